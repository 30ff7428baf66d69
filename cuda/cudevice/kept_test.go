package cudevice

import (
	"errors"
	"slices"
	"testing"

	"triad/cuda/serve"
)

// memory is a device of a number of bytes on which ranges are mapped.
type memory struct {
	room     int64
	next     uintptr
	mapped   map[uintptr]int64
	unmapped []uintptr // in order, one that fails included
	fails    int       // the number of the call of Unmap that fails, from 1
}

func (m *memory) Can() (bool, error) { return true, nil }

func (m *memory) Map(first, second int64) (uintptr, error) {
	if m.room < first+second {
		return 0, &serve.OutOfMemory{Message: "full"}
	}
	m.next++
	m.room, m.mapped[m.next] = m.room-first-second, first+second
	return m.next, nil
}

func (m *memory) Unmap(at uintptr, bytes int64) error {
	m.unmapped = append(m.unmapped, at)
	if len(m.unmapped) == m.fails {
		return errors.New("it fails")
	}
	if m.mapped[at] != bytes {
		return errors.New("it is not mapped")
	}
	delete(m.mapped, at)
	m.room += bytes
	return nil
}

// keeping returns mappings of which four are kept, two of either size, on a memory that they fill.
func keeping(t *testing.T) (*spreads, *memory) {
	t.Helper()
	m := &memory{room: 4*pageBytes + 4*2*pageBytes, mapped: map[uintptr]int64{}}
	s := &spreads{mapper: m, used: map[uintptr]mapping{}, free: map[[2]int64][]uintptr{}}
	var all []mapping
	for i := range 4 {
		pages := int64(pageBytes) * int64(1+i%2)
		one, err := s.take([2]int64{pages, pages})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	for _, one := range all {
		if err := s.giveBack(one); err != nil {
			t.Fatal(err)
		}
	}
	return s, m
}

// TestKeptMappingsAreRoom: what is kept on two devices is used again, and is unmapped where an allocation, on
// one device or on two, has no room.
func TestKeptMappingsAreRoom(t *testing.T) {
	s, m := keeping(t)
	again, err := s.take([2]int64{pageBytes, pageBytes})
	if err != nil || m.next != 4 || again.base != 3 {
		t.Fatalf("%v: %+v of %d mapped", err, again, m.next)
	}
	if err := s.giveBack(again); err != nil {
		t.Fatal(err)
	}
	all := m.room + 12*pageBytes
	one, err := s.take([2]int64{all / 2, all / 2})
	if err != nil || len(m.mapped) != 1 || m.mapped[one.base] != all {
		t.Errorf("on two devices: %v, %v", err, m.mapped)
	}
	if err := s.giveBack(one); err != nil || len(s.free) != 1 {
		t.Errorf("give it back: %v, %v kept", err, s.free)
	}

	s, m = keeping(t)
	calls := 0
	err = s.withRoom(func() error {
		if calls++; m.room < 12*pageBytes {
			return &serve.OutOfMemory{Message: "full"}
		}
		return nil
	})
	if err != nil || calls != 2 || len(m.mapped) != 0 {
		t.Errorf("on one device: %v after %d calls, %v", err, calls, m.mapped)
	}
	calls = 0
	for _, want := range []error{errors.New("another"), &serve.OutOfMemory{Message: "full"}} {
		if err := s.withRoom(func() error { calls++; return want }); err != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, with nothing kept", calls)
	}
}

// TestWhyAlone: --gpus is named only where it gives a second GPU.
func TestWhyAlone(t *testing.T) {
	for visible, want := range map[int]string{
		1: "this run sees 1", 2: "this run has one of 2, and --gpus 0,1 gives it two",
		8: "this run has one of 8, and --gpus 0,1 gives it two",
	} {
		if got := whyAlone(visible); got != want {
			t.Errorf("of %d: %s, want %s", visible, got, want)
		}
	}
}

// TestUnmapFails: after a mapping that cannot be unmapped no other one is forgotten or unmapped twice.
func TestUnmapFails(t *testing.T) {
	s, m := keeping(t)
	m.fails = 2
	full := func() error { return &serve.OutOfMemory{Message: "full"} }
	if err := s.withRoom(full); err == nil || err.Error() != "it fails" {
		t.Fatalf("the error is %v", err)
	}
	var lost *serve.OutOfMemory
	if err := s.withRoom(full); !errors.As(err, &lost) {
		t.Errorf("the error is %v", err)
	}
	slices.Sort(m.unmapped)
	if !slices.Equal(m.unmapped, []uintptr{1, 2, 3, 4}) {
		t.Errorf("unmapped are %v", m.unmapped)
	}
}

package serve

import (
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// An access next to a buffer stops at its first byte if nothing lies between the buffer and inaccessible
// memory, and at either end of readable memory if the buffer's size permits. A correct kernel is right at
// every place.
func TestPlaces(t *testing.T) {
	const (
		behind = "0 bytes past the end of buffer x of"
		front  = "4 bytes before the start of buffer x of"
	)
	for _, c := range []struct {
		variant string
		n       int
		place   string
		says    string // "": nothing
	}{
		{"reads_behind", 33, backend.PlaceExactEnd, behind},
		{"reads_behind", 32, backend.PlaceEnd, behind},
		{"reads_in_front", 33, backend.PlaceExactBegin, front},
		{"reads_in_front", 32, backend.PlaceBegin, front},
		{"right", 33, backend.PlaceExactEnd, ""},
		{"right", 33, backend.PlaceExactBegin, ""},
		{"right", 33, backend.PlaceBegin, ""},
	} {
		w := startWorker(t, false)
		w.load("scale")
		reply, err := w.run(w.scale(c.variant, c.n, []string{"y"},
			backend.Launch{Poison: "b", Order: "forward", Place: c.place}))
		if err != nil || len(reply.Launches) != 1 {
			t.Fatalf("%+v, %v", reply, err)
		}
		l, want := reply.Launches[0], op.StatusUnknown
		if c.says != "" {
			want = op.StatusOutOfBounds
		}
		if l.Status != want || !strings.Contains(l.Message, c.says) || len(l.Guards) > 0 {
			t.Errorf("%s, %d elements at the place %q: %v (%s), want %v (%s)", c.variant, c.n, c.place,
				l.Status, l.Message, want, c.says)
		}
		if want != op.StatusUnknown && (l.Where == nil || l.Where.Thread == nil) {
			t.Errorf("%s, %q: the finding points to %+v, want a thread", c.variant, c.place, l.Where)
		}
	}
	w := startWorker(t, false)
	w.load("scale")
	aside := backend.Launch{Poison: "a", Place: "aside"}
	if _, err := w.run(w.scale("right", 3, []string{"y"}, aside)); err == nil ||
		!strings.Contains(err.Error(), `place "aside"`) {
		t.Errorf("a place that there is not: %v", err)
	}
}

// An error that no place shows exactly still shows as bits that depend on the bytes around a buffer; so does
// an uninitialised read of shared memory, where NaN would be dropped.
func TestMemoryDiffersBetweenPoisons(t *testing.T) {
	w := startWorker(t, true)
	w.load("scale")
	for _, variant := range []string{"reads_behind", "reads_shared"} {
		reply, err := w.run(w.scale(variant, 33, []string{"y"}, fourOrders...))
		if err != nil || len(reply.Launches) != 4 {
			t.Fatalf("%s: %+v, %v", variant, reply, err)
		}
		var sums [4]uint32
		for i, l := range reply.Launches {
			sums[i] = l.Outputs[0].CRC32
		}
		if sums[0] != sums[2] || sums[1] != sums[3] || sums[0] == sums[1] {
			t.Errorf("%s: checksums %08x, want those of one poison alike, and not those of both", variant,
				sums)
		}
	}
}

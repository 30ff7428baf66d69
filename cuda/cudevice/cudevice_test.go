package cudevice

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"triad/cuda/serve"
	"triad/internal/backend"
	"triad/internal/op"
)

func TestGuardReport(t *testing.T) {
	whole := bytes.Repeat([]byte{canary(2)}, guardBytes)
	changed := func(at ...int) []byte {
		guard := bytes.Clone(whole)
		for _, i := range at {
			guard[i]++
		}
		return guard
	}
	b := serve.Buffer{Name: "y", Bytes: 12}
	for _, c := range []struct {
		name          string
		before, after []byte
		want          *backend.GuardReport
	}{
		{"untouched", whole, whole, nil},
		{"right behind", whole, changed(0, 1, 2, 3), &backend.GuardReport{Buffer: "y", Bytes: 0, Count: 4}},
		{"far behind", whole, changed(guardBytes - 1), &backend.GuardReport{
			Buffer: "y",
			Bytes:  guardBytes - 1, Count: 1,
		}},
		{"right in front", changed(guardBytes-1, guardBytes-2), whole, &backend.GuardReport{
			Buffer: "y",
			Bytes:  -1, Count: 2,
		}},
		{"far in front", changed(0), whole, &backend.GuardReport{Buffer: "y", Bytes: -guardBytes, Count: 1}},
		{"both sides", changed(5), changed(7), &backend.GuardReport{Buffer: "y", Bytes: 7, Count: 2}},
	} {
		got := guardReport(b, canary(2), c.before, c.after)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestCanariesDiffer: no two buffers of a launch share one, and a repeated launch finds the same ones.
func TestCanariesDiffer(t *testing.T) {
	var first []byte
	for range 2 {
		c, all := canaries{}, []byte{}
		for i := range kindsOfCanary {
			all = append(all, c.take(uintptr(i)))
		}
		unique := slices.Compact(slices.Sorted(slices.Values(all)))
		if len(unique) != kindsOfCanary || first != nil && !bytes.Equal(first, all) {
			t.Fatalf("canaries %x, and %x before", all, first)
		}
		first = all
		if full := c.take(kindsOfCanary); !slices.Contains(all, full) {
			t.Errorf("the canary of one buffer more is %x, none of %x", full, all)
		}
		delete(c, 3)
		if again := c.take(99); again != all[3] {
			t.Errorf("the canary %x is free, got %x", all[3], again)
		}
	}
}

// An error is named, and a kernel that ends with one has the matching status.
func TestErrors(t *testing.T) {
	for code, want := range map[int]string{
		700: "CUDA error 700, illegal address", 716: "misaligned address",
		12345: "CUDA error 12345",
	} {
		if got := describe(code); !strings.Contains(got, want) {
			t.Errorf("error %d is %q, want it to say %q", code, got, want)
		}
	}
	for code, want := range map[int]op.Status{
		2: op.StatusOOM, 700: op.StatusCrash, 702: op.StatusHang,
		719: op.StatusCrash,
	} {
		if f := findingOf(code); f.Status != want || !f.Dirty || !strings.Contains(f.Message, "CUDA error") {
			t.Errorf("error %d: %+v, want %v and a fresh process", code, f, want)
		}
	}
}

// TestLargeBuffersBeginAPage: like those of cudaMalloc; the guard in front is whole for every size.
func TestLargeBuffersBeginAPage(t *testing.T) {
	for _, size := range []int64{0, 1, guardBytes, pageBytes - 1, pageBytes, 5 * pageBytes / 2, 1 << 34} {
		lead := leadBytes(size)
		if lead < guardBytes || lead%guardBytes != 0 || size >= pageBytes && lead%pageBytes != 0 {
			t.Errorf("a buffer of %d bytes begins %d bytes into its allocation", size, lead)
		}
	}
}

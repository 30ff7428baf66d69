package ladder

import (
	"strings"
	"testing"
)

// made is a ladder of three variants over one input of 1000 bytes: one that reads it three times, one that
// reads it twice, with no published time, and one that reads it once in wide accesses.
func made() Ladder {
	traffic := func(reads, lanes int64) Traffic {
		return Traffic{
			ReadBytes: reads * 1000, WriteBytes: 1000, Lanes: lanes, Requests: lanes / 32, Sectors: 100,
			LeastSectors: 100, Runs: 10,
		}
	}
	return Ladder{
		DType: "fp32", Dims: map[string]int64{"rows": 2, "cols": 125}, InputBytes: 1000, OutputBytes: 1000,
		Input: "x", GPU: "H200", BenchDType: "bf16", BenchSizes: "8192 x 8192",
		Variants: []Variant{
			{Impl: "cuda/naive", What: "a thread a row", Traffic: traffic(3, 1000)},
			{Impl: "cuda/online", Traffic: traffic(2, 750)},
			{Impl: "cuda/vec", What: "16-byte accesses", Traffic: traffic(1, 125), MedianNS: 65_700},
		},
	}
}

// TestPlace: a kernel is put beside the variant with the nearest counts; the next variant is one with a
// published time that counts better, and the line says in what.
func TestPlace(t *testing.T) {
	l := made()
	mine := l.Variants[0].Traffic
	mine.Lanes += 10
	want := "counted like cuda/naive: it reads x 3 times and moves 4 bytes an access; cuda/vec (16-byte " +
		"accesses) reads x once and moves 16 bytes an access: 65.7 us of the published 8192 x 8192 in " +
		"bf16 on " +
		"an H200 (an estimate)"
	if got := l.Place(mine); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	best := l.Variants[2].Traffic
	if got := l.Place(best); !strings.HasPrefix(got, "counted like cuda/vec, which no variant") ||
		!strings.Contains(got, "65.7 us") || !strings.HasSuffix(got, "(an estimate)") {
		t.Errorf("of the last variant: %s", got)
	}
	conflicts := mine
	conflicts.Wavefronts, conflicts.LeastWavefronts = 320, 10
	if got := l.Place(conflicts); !strings.Contains(got, "needs 32.0 wavefronts of shared memory for 1") {
		t.Errorf("of bank conflicts: %s", got)
	}
}

// TestPlaceOfBytes: of a kernel of Triton only bytes are counted; beside it stands the variant that moves the
// fewest.
func TestPlaceOfBytes(t *testing.T) {
	l := made()
	alike := l.Variants[2]
	alike.Impl, alike.MedianNS = "cuda/warp", 0
	l.Variants = append([]Variant{alike}, l.Variants...)
	want := "it reads x 3 times and writes each output once, masked lanes left out; cuda/vec (16-byte " +
		"accesses) reads x once and writes each output once: 65.7 us of the published 8192 x 8192 in bf16 " +
		"on an H200 (an estimate)"
	if got := l.PlaceOfBytes(Traffic{ReadBytes: 3000, WriteBytes: 1000}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	want = "it reads x once and writes each output once, masked lanes left out; no CUDA variant of triad's " +
		"moves much less (an estimate)"
	if got := l.PlaceOfBytes(Traffic{ReadBytes: 1000, WriteBytes: 1000}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestWhole: a kernel whose copies are not counted seems to read less than its input, and has no place.
func TestWhole(t *testing.T) {
	l := made()
	if !l.Whole(Traffic{Requests: 1, ReadBytes: 1000}) || l.Whole(Traffic{Requests: 9, ReadBytes: 490}) ||
		l.Whole(Traffic{}) {
		t.Error("what is read less than once is not counted in whole")
	}
}

// TestRows: the kernel comes first, then the variants, those without a time before the slowest.
func TestRows(t *testing.T) {
	l := made()
	rows := l.Rows("mine/a.cu", l.Variants[1].Traffic)
	var order []string
	for _, row := range rows {
		if len(row) != len(Header) {
			t.Errorf("%d cells, %d columns", len(row), len(Header))
		}
		order = append(order, row[0])
	}
	if got := strings.Join(order, " "); got != "mine/a.cu cuda/naive cuda/online cuda/vec" ||
		rows[0][1] != "2.00" ||
		rows[3][len(Header)-1] != "65.7 us" {
		t.Errorf("rows %v", rows)
	}
	if got := l.Case(); got != "fp32 cols=125 rows=2" {
		t.Errorf("case %s", got)
	}
}

// TestOnGPU: the line has the share of the roofline, all ratios, and of triad's own variants the next faster.
func TestOnGPU(t *testing.T) {
	got := made().OnGPU(100_000, 0.74, []Other{
		{"cuda/naive", 400_000}, {"cuda/vec", 50_000}, {"triton/row", 80_000}, {"cuda/online", 90_000},
	})
	if want := "74 % of the roofline; its time is 2.00 x cuda/vec, 1.25 x triton/row, 1.11 x " +
		"cuda/online, 0.25 x " +
		"cuda/naive; next: cuda/online"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := made().OnGPU(60_000, 0, []Other{{"cuda/vec", 50_000}}); got != "its time is 1.20 x "+
		"cuda/vec; next: "+
		"cuda/vec (16-byte accesses)" {
		t.Error(got)
	}
	if got := made().OnGPU(60_000, 0, nil); got != "" {
		t.Error(got)
	}
}

// TestPublishedLadders: every ladder has variants, sizes and bytes, and a kernel counted as one of its
// variants is put there, or beside one with the same counts.
func TestPublishedLadders(t *testing.T) {
	if len(published()) < 10 {
		t.Fatalf("%d ladders", len(published()))
	}
	for name, l := range published() {
		if len(l.Variants) == 0 || l.InputBytes <= 0 || l.OutputBytes <= 0 || l.DType == "" {
			t.Errorf("%s: %+v", name, l)
		}
		for _, r := range l.Variants {
			if !l.Whole(r.Traffic) {
				t.Errorf("%s: %s is not counted in whole", name, r.Impl)
			}
			if at := l.Nearest(r.Traffic); l.measuresOf(at.Traffic).apart(l.measuresOf(r.Traffic)) != 0 {
				t.Errorf("%s: %s is put beside %s", name, r.Impl, at.Impl)
			}
			if words := l.Place(r.Traffic); !strings.Contains(words, "estimate") {
				t.Errorf("%s: %s", name, words)
			}
		}
	}
}

package gpuworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/truth"
	"triad/internal/worker"
	"triad/results"
)

// stored is a recorder over the product's own store.
type stored struct {
	store   *results.Store
	session *results.Session
}

func (s *stored) Plan(items []record.Item, versions record.Toolchain) (err error) {
	s.session, err = s.store.Start(context.Background(), record.Session{
		Request:   "faults",
		Toolchain: versions,
	}, items)
	return err
}
func (s *stored) Done(record.Item) bool { return false }
func (s *stored) Append(r *record.Record) error {
	return s.session.Record(context.Background(), r)
}
func (s *stored) AppendDifferences(d []record.Difference) error { return nil }

// faultKinds maps the kernels of testdata/faults.cu that cost a worker or ask for too much to the expected
// status of each case. A sweep gives a kernel up after a few cases that cost a worker, so there are five of
// each such kind.
var faultKinds = map[string]op.Status{
	"cuda/wild": op.StatusCrash, "cuda/misaligned": op.StatusCrash, "cuda/trap": op.StatusCrash,
	"cuda/forever": op.StatusHang, "cuda/greedy": op.StatusOOM,
}

// faultKind returns the kind of a faulty implementation, "" for a correct one.
func faultKind(implementation string) string {
	kind, _, _ := strings.Cut(implementation, "_")
	if _, known := faultKinds[kind]; known {
		return kind
	}
	return ""
}

// faultSlots gives every kind of fault a worker of its own. A correct kernel runs in the next one each time,
// so that it meets every kind. The kinds run concurrently, and one that never ends delays no other.
func faultSlots() func(string) string {
	kinds := slices.Sorted(maps.Keys(faultKinds))
	var mu sync.Mutex
	turn := 0
	return func(implementation string) string {
		if kind := faultKind(implementation); kind != "" {
			return kind
		}
		mu.Lock()
		defer mu.Unlock()
		turn++
		return kinds[turn%len(kinds)]
	}
}

// faultDistributions lists the inputs that every kernel is launched on.
var faultDistributions = []string{
	"normal", "scaled", "shifted", "integers", "outlier", "low_logits", "late_max", "row_offsets", "ties",
	"constant",
}

// Ten and more illegal addresses, misaligned addresses, traps, infinite loops and requests of more memory
// than there is, in one sweep: each is recorded as such, and the correct kernels before and after them as
// right.
func TestFigureFaults(t *testing.T) {
	out := figureFolder(t)
	folder, path, g := gpuFolder(t)
	limits := worker.DefaultLimits
	limits.First, limits.CallLeast = 2*time.Second, 2*time.Second
	a := kernelsOf(t, path, disguised(t, folder, g, "faults.cu", faults), limits)
	a.Slot = faultSlots()
	file := filepath.Join(out, "figure-faults.db")
	for _, of := range []string{"", "-wal", "-shm"} { // an earlier sweep's
		if err := os.Remove(file + of); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	store, err := results.Open(t.Context(), file, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	softmax, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	distributions := faultDistributions
	began := time.Now()
	progress := func(p run.Progress) {
		fmt.Printf("faults: %d of %d cases after %.0f s %s\n", p.Case, p.Cases, time.Since(began).Seconds(),
			p.Text)
	}
	r := &run.Runner{
		Backends: []backend.Backend{a}, Recorder: &stored{store: store}, Stop: t.Context(),
		Progress: progress,
	}
	result, err := r.Compare(t.Context(), run.Request{
		Operators: []*truth.Operator{softmax}, Seed: 1, InFlight: 3, Single: true,
		Impls: []string{ // names, and prefixes of names
			"cuda/right", "cuda/wild", "cuda/wild_", "cuda/misaligned", "cuda/misaligned_", "cuda/trap",
			"cuda/trap_", "cuda/forever", "cuda/forever_", "cuda/greedy", "cuda/right_after",
		},
		Options: op.Options{
			Device: "gpu", DTypes: []string{"fp32"}, Passes: []op.Pass{op.Forward},
			Dims:          map[string]int64{"rows": 5, "cols": 33},
			Distributions: distributions, Layouts: []string{"contiguous"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := store.List(t.Context(), results.Filter{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	counts := faultCounts(records)
	leave(t, "faults", fmt.Sprintf("%d records in %.0f s: %v", len(records), time.Since(began).Seconds(),
		counts), counts)
	checkFaultCounts(t, counts, len(distributions))
	if want := (4*5 + 1 + 2) * len(distributions); len(result.Records) != len(records) ||
		len(records) != want {
		t.Errorf("%d records, %d of them stored, want %d", len(result.Records), len(records), want)
	}
}

// checkFaultCounts fails if a kind of fault ended otherwise than it must, or a correct kernel failed. counts
// are records by kind and status.
func checkFaultCounts(t *testing.T, counts map[string]map[string]int, distributions int) {
	t.Helper()
	for kind, status := range faultKinds {
		n := counts[kind]
		if n[status.String()] < 10 || len(n) > 2 || len(n) == 2 && n["SKIPPED"] == 0 {
			t.Errorf("%s: %v, want at least 10 times %v, and nothing else but what was given up",
				kind, n, status)
		}
	}
	for _, impl := range []string{"cuda/right", "cuda/right_after"} {
		if n := counts[impl]; n["PASS"]+n["WARN"]+n["NO_POWER"] != distributions {
			t.Errorf("the innocent kernel %s: %v", impl, n)
		}
	}
}

// faultCounts counts the statuses of each kind of fault; kernels without a fault are counted by name.
func faultCounts(records []record.Record) map[string]map[string]int {
	counts := map[string]map[string]int{}
	for _, r := range records {
		kind := cmp.Or(faultKind(r.Impl), r.Impl)
		if counts[kind] == nil {
			counts[kind] = map[string]int{}
		}
		counts[kind][r.Status.String()]++
	}
	return counts
}

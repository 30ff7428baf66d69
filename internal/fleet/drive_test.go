package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake is an engine whose tasks end at once with the result of do.
type fake struct {
	do        func(shard, try int) (o Outcome, left bool) // left: the task leaves an outcome
	tries     map[int]int
	submitted [][]int
	cancelled []bool
	silent    error // of Gone
}

func (f *fake) Submit(_ context.Context, folder Folder, shards []int) error {
	f.submitted = append(f.submitted, slices.Clone(shards))
	for _, shard := range shards {
		f.tries[shard]++
		if o, left := f.do(shard, f.tries[shard]); left {
			err := errors.Join(os.WriteFile(folder.Part(shard), nil, 0o600), folder.End(shard, o))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fake) Gone(_ context.Context, shards []int) (map[int]string, error) {
	gone := map[int]string{}
	for _, shard := range shards {
		gone[shard] = "NODE_FAIL"
	}
	return gone, f.silent
}

func (f *fake) Log(_ Folder, shard int) string { return fmt.Sprintf("log-%d", shard) }

func (f *fake) Cancel(_ context.Context, atOnce bool) error {
	f.cancelled = append(f.cancelled, atOnce)
	return nil
}

// driven runs three shards on a fake engine and returns how that ended, the merged parts, and the messages.
func driven(t *testing.T, folder Folder, f *fake, stop context.Context) (Ended, []string, string) {
	t.Helper()
	f.tries = map[int]int{}
	var parts []string
	var told strings.Builder
	plan := Plan{Session: "01", Shards: 3}
	if err := folder.Create(plan); err != nil {
		t.Fatal(err)
	}
	d := Driver{
		Folder: folder, Plan: plan, Engine: f, Stop: stop, Every: time.Millisecond, Grace: time.Second,
		Settle:   5 * time.Millisecond,
		Merge:    func(_ context.Context, part string) error { parts = append(parts, part); return nil },
		Progress: func(int, int) {}, Tell: func(s string) { told.WriteString(s + "\n") },
	}
	ended, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ended, parts, told.String()
}

var done = Outcome{Complete: true, Part: true}

// Every shard is submitted once and merged once.
func TestShardsAreRunAndMerged(t *testing.T) {
	f := &fake{do: func(int, int) (Outcome, bool) { return done, true }}
	folder := Folder(t.TempDir())
	ended, parts, told := driven(t, folder, f, t.Context())
	if len(ended.Complete) != 3 || len(parts) != 3 || told != "" || len(f.submitted) != 1 {
		t.Errorf("%+v, parts %v, told %q, submitted %v", ended, parts, told, f.submitted)
	}
}

// A shard that is lost or fails is queued again once, alone; after that it is left out, and named with its
// log. A refused one is not tried again.
func TestLostShardsAreTriedTwice(t *testing.T) {
	for name, c := range map[string]struct {
		do               func(shard, try int) (Outcome, bool)
		complete, failed int
		submitted, told  string
	}{
		"lost once": {
			func(shard, try int) (Outcome, bool) { return done, shard != 2 || try > 1 }, 3, 0,
			"[[1 2 3] [2]]",
			"shard 2/3 failed and is queued again: its task ended without a result: NODE_FAIL (log: log-2)\n",
		},
		"lost twice": {
			func(shard, _ int) (Outcome, bool) { return done, shard != 2 }, 2, 1, "[[1 2 3] [2]]",
			"shard 2/3 failed: its task ended without a result: NODE_FAIL (log: log-2)\n",
		},
		"broken off": {
			func(shard, try int) (Outcome, bool) {
				if shard == 3 && try == 1 {
					return Outcome{Part: true, Exit: 1, Reason: "disk full", Host: "n7"}, true
				}
				return done, true
			}, 3, 0, "[[1 2 3] [3]]", "shard 3/3 failed on n7 and is queued again: disk full (log: log-3)\n",
		},
		"refused": {
			func(int, int) (Outcome, bool) { return Outcome{Exit: 2, Reason: "no such flag"}, true },
			0, 3, "[[1 2 3]]", "shard 1/3 failed: no such flag (log: log-1)\n",
		},
	} {
		f := &fake{do: c.do}
		ended, _, told := driven(t, Folder(t.TempDir()), f, t.Context())
		if len(ended.Complete) != c.complete || len(ended.Failed) != c.failed ||
			fmt.Sprint(f.submitted) != c.submitted || !strings.Contains(told, c.told) {
			t.Errorf("%s: %+v, told %q, submitted %v", name, ended, told, f.submitted)
		}
	}
}

// A stop cancels the tasks and keeps their parts; the next run does the rest, and merges the earlier parts
// again.
func TestAStopKeepsWhatIsDone(t *testing.T) {
	stop, cancel := context.WithCancel(t.Context())
	folder := Folder(t.TempDir())
	f := &fake{do: func(shard, _ int) (Outcome, bool) {
		cancel()
		return Outcome{Complete: shard == 1, Part: shard != 3, Stopped: shard == 2}, shard != 3
	}}
	ended, parts, _ := driven(t, folder, f, stop)
	if !ended.Stopped || len(f.cancelled) == 0 || f.cancelled[0] || len(parts) != 2 ||
		len(ended.Failed) != 0 {
		t.Errorf("stopped: %+v, cancelled %v, parts %v", ended, f.cancelled, parts)
	}
	f.do, f.submitted = func(int, int) (Outcome, bool) { return done, true }, nil
	ended, parts, _ = driven(t, folder, f, t.Context())
	if len(ended.Complete) != 3 || fmt.Sprint(f.submitted) != "[[2 3]]" || len(parts) != 4 {
		t.Errorf("resumed: %+v, submitted %v, parts %v", ended, f.submitted, parts)
	}
}

// Shards are named to sbatch as ranges.
func TestIndices(t *testing.T) {
	for want, shards := range map[string][]int{
		"1": {1}, "1-3": {1, 2, 3}, "2,4-5,9": {2, 4, 5, 9}, "": nil,
	} {
		if got := indices(shards); got != want {
			t.Errorf("%v: %q, want %q", shards, got, want)
		}
	}
}

package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A case belongs to one shard, however many ask, how often, and at the same time.
func TestACaseIsTakenOnce(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	if err := folder.Create(Plan{Session: "01", Shards: 4, Claimed: true}); err != nil {
		t.Fatal(err)
	}
	const cases = 200
	owners := make([][]string, 5)
	var group sync.WaitGroup
	for shard := 1; shard <= 4; shard++ {
		group.Go(func() {
			for range 2 { // a shard that is restarted gets the same again
				var mine []string
				for i := range cases {
					key := fmt.Sprintf("softmax/forward/%d", (i*7+shard*50)%cases)
					got, err := folder.Claim(shard, key)
					if err != nil {
						t.Error(err)
					}
					if got {
						mine = append(mine, key)
					}
				}
				slices.Sort(mine)
				if owners[shard] != nil && !slices.Equal(owners[shard], mine) {
					t.Errorf("shard %d had %d cases and now has %d", shard, len(owners[shard]), len(mine))
				}
				owners[shard] = mine
			}
		})
	}
	group.Wait()
	all := slices.Concat(owners...)
	slices.Sort(all)
	if len(all) != cases || len(slices.Compact(all)) != cases || folder.Claimed() != cases {
		t.Errorf("%d cases were taken, %d are in the folder, want each of %d once", len(all),
			folder.Claimed(), cases)
	}
	if _, err := Folder(t.TempDir()).Claim(1, "x"); err == nil {
		t.Error("a case is taken in a folder that is no run's")
	}
}

// Each GPU runs one shard at a time, which sees no other GPU. A killed process is reported, and a shard that
// is submitted again runs again.
func TestShardsOnGPUs(t *testing.T) {
	dir := t.TempDir()
	triad := filepath.Join(dir, "triad")
	script := "#!/bin/sh\necho \"shard $3 on $CUDA_VISIBLE_DEVICES with $GOMAXPROCS\"\n" +
		"mkdir \"$2/busy-$CUDA_VISIBLE_DEVICES\" || echo two at once\nsleep 0.1\n" +
		"rmdir \"$2/busy-$CUDA_VISIBLE_DEVICES\"\n[ \"$3\" != 2 ] || kill -KILL $$\n"
	if err := os.WriteFile(triad, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "7")
	t.Setenv("GOMAXPROCS", "64")
	l := &Local{Triad: triad, GPUs: []string{"0", "3"}, Cores: 5}
	shards := []int{1, 2, 3, 4, 5}
	folder := Folder(dir)
	if err := l.Submit(t.Context(), folder, shards); err != nil {
		t.Fatal(err)
	}
	gone := ended(t, l, shards)
	if !strings.Contains(gone[2], "killed") || strings.Contains(gone[1], "killed") {
		t.Errorf("the shards ended so: %v", gone)
	}
	if err := l.Submit(t.Context(), folder, []int{2}); err != nil {
		t.Fatal(err)
	}
	ended(t, l, []int{2})
	text := ""
	for _, shard := range shards {
		log, err := os.ReadFile(l.Log(folder, shard))
		if err != nil {
			t.Error(err)
		}
		text += string(log)
	}
	if strings.Count(text, "on 0 with 5") == 0 || strings.Count(text, "on 3 with 5") == 0 ||
		strings.Count(text, "shard 2 on") != 2 || strings.Contains(text, "two at once") {
		t.Errorf("the shards said:\n%s", text)
	}
}

// The shard that has all GPUs, with the cores of all, runs when no other does and none waits, also when one
// of the others is submitted again.
func TestAShardOnAllGPUs(t *testing.T) {
	dir := t.TempDir()
	triad := filepath.Join(dir, "triad")
	script := "#!/bin/sh\necho \"shard $3 on $CUDA_VISIBLE_DEVICES with $GOMAXPROCS\"\n" +
		"for other in \"$2\"/busy-*; do [ -e \"$other\" ] && [ $3 = 4 ] && echo not alone\ndone\n" +
		"[ -e \"$2/busy-4\" ] && echo beside it\nmkdir \"$2/busy-$3\"\nsleep 0.1\nrmdir \"$2/busy-$3\"\n"
	if err := os.WriteFile(triad, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	l := &Local{Triad: triad, GPUs: []string{"0", "3"}, Cores: 5, Spread: 4}
	if err := l.Submit(t.Context(), Folder(dir), []int{4, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	ended(t, l, []int{1, 2, 3, 4})
	if err := l.Submit(t.Context(), Folder(dir), []int{4, 1}); err != nil {
		t.Fatal(err)
	}
	ended(t, l, []int{1, 4})
	text := ""
	for shard := 1; shard <= 4; shard++ {
		log, err := os.ReadFile(l.Log(Folder(dir), shard))
		if err != nil {
			t.Error(err)
		}
		text += string(log)
	}
	if strings.Count(text, "shard 4 on 0,3 with 10") != 2 || strings.Count(text, "shard 1 on") != 2 ||
		strings.Contains(text, "alone") || strings.Contains(text, "beside") {
		t.Errorf("the shards said:\n%s", text)
	}
}

// When a run is stopped, queued shards are not started and running ones are asked to end.
func TestAStopOnGPUs(t *testing.T) {
	dir := t.TempDir()
	triad := filepath.Join(dir, "triad")
	script := "#!/bin/sh\ntrap 'echo asked; exit 0' TERM\necho begun\nwhile :; do sleep 0.02; done\n"
	if err := os.WriteFile(triad, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	l := &Local{Triad: triad, GPUs: []string{"0"}, Cores: 1}
	if err := l.Submit(t.Context(), Folder(dir), []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	log := l.Log(Folder(dir), 1)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if text, _ := os.ReadFile(log); len(text) > 0 {
			break
		}
	}
	if err := l.Cancel(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	gone := ended(t, l, []int{1, 2})
	text, _ := os.ReadFile(log)
	if gone[2] != "it was not begun" || string(text) != "begun\nasked\n" {
		t.Errorf("%v; shard 1 said %q", gone, text)
	}
	if _, err := os.Stat(l.Log(Folder(dir), 2)); err == nil {
		t.Error("shard 2 was begun")
	}
}

// ended waits until shards have ended, and returns how.
func ended(t *testing.T, l *Local, shards []int) map[int]string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		gone, err := l.Gone(t.Context(), shards)
		if err != nil {
			t.Fatal(err)
		}
		if len(gone) == len(shards) {
			return gone
		}
		if time.Now().After(end) {
			t.Fatalf("only %v have ended", gone)
		}
	}
}

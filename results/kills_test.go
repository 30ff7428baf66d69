package results

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"triad/internal/need"
)

// command is the real command with its request: every CUDA implementation of softmax in the emulator, which
// is quick and needs no Python.
type command struct {
	binary string
	args   []string
	whole  []string // what an uncut run records, one line each, sorted
	wall   time.Duration
}

// commandFolder holds what built has made; TestMain removes it.
var commandFolder string

// built builds triad, once for all tests, and runs the request without a cut.
var built = sync.OnceValues(func() (*command, error) {
	var err error
	if commandFolder, err = os.MkdirTemp("", "results"); err != nil {
		return nil, err
	}
	d := &command{binary: filepath.Join(commandFolder, "triad"), args: []string{
		"compare", softmaxCase(0).Op, "--impl", "cuda", "--dtype", "fp32", "--pass", "forward", "--quick",
		"--device", "cpu",
	}}
	// without debugging symbols it is linked in half the time
	build := exec.Command("go", "build", "-ldflags=-w", "-o", d.binary, "../cmd/triad")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	for range 2 { // the first time kernels may have to be built
		began := time.Now()
		if out, err := d.run(d.wholePath()).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		d.wall = time.Since(began)
	}
	return d, nil
})

func (d *command) wholePath() string { return filepath.Join(filepath.Dir(d.binary), "whole.db") }

// buildCommand returns triad with the request, which it has run without a cut.
func buildCommand(t *testing.T) *command {
	t.Helper()
	need.Tool(t, "g++")
	need.Tool(t, "go")
	d, err := built()
	if err != nil {
		t.Fatal(err)
	}
	d.whole = slices.Compact(outcomes(t, d.wholePath()))
	if len(d.whole) < 30 {
		t.Fatalf("the request records %d results: too few to be cut", len(d.whole))
	}
	return d
}

// run returns the request on a database as a command; more are further flags.
func (d *command) run(path string, more ...string) *exec.Cmd {
	cmd := exec.Command(d.binary, slices.Concat(d.args, []string{"--db", path}, more)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// resumed runs the request, or the rest of it, in a database.
func (d *command) resumed(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	if len(rowsOf(t, path, "SELECT session_ulid FROM session")) == 0 {
		return d.run(path)
	}
	return d.run(path, "--resume")
}

// outcomes returns the results in a database: case, implementation, seed and status, sorted.
func outcomes(t *testing.T, path string) []string {
	t.Helper()
	return rowsOf(
		t,
		path,
		"SELECT c.case_key || ' ' || p.implementation || ' ' || r.seed || ' ' || r.status "+
			"FROM run r JOIN plan p USING (plan_id) JOIN test_case c ON c.case_id = r.case_id "+
			"WHERE r.status <> 'INTERRUPTED' ORDER BY 1",
	)
}

// rowsOf reads one column of a database as another process would; nothing if there is no database yet.
func rowsOf(t *testing.T, path, query string) []string {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil
	}
	db, err := sql.Open("sqlite3", fileURI(path)+"?mode=rw&_query_only=on&_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if n, err := column[int](db, "SELECT count(*) FROM sqlite_schema WHERE name = 'run'"); err != nil ||
		n[0] == 0 {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return nil
	}
	all, err := column[string](db, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// acknowledgedRows returns the results that another process than the writer reads: ID, status and number of
// verdicts.
func acknowledgedRows(t *testing.T, path string) []string {
	t.Helper()
	return rowsOf(t, path, "SELECT r.run_ulid || ' ' || r.status || ' ' || "+
		"(SELECT count(*) FROM verdict v WHERE v.run_id = r.run_id) FROM run r WHERE r.status IS NOT NULL "+
		"ORDER BY r.run_ulid")
}

// whole checks that pages, indexes and references of a database are sound.
func whole(t *testing.T, path string) {
	t.Helper()
	for _, said := range rowsOf(t, path, "PRAGMA integrity_check") {
		if said != "ok" {
			t.Fatalf("%s: integrity: %s", path, said)
		}
	}
	if lost := rowsOf(t, path, "SELECT \"table\" FROM pragma_foreign_key_check"); len(lost) > 0 {
		t.Fatalf("%s: a row of %s refers to one that is not there", path, lost[0])
	}
}

// once checks that a database has one session, complete, with every result of an uninterrupted run exactly
// once.
func (d *command) once(t *testing.T, path string, sameStatus bool) {
	t.Helper()
	if states := rowsOf(t, path, "SELECT state FROM session"); !slices.Equal(states, []string{"complete"}) {
		t.Errorf("%s: sessions are %v, want one that is complete", path, states)
	}
	got, want := outcomes(t, path), d.whole
	if !sameStatus { // a worker was killed: its current run may be a crash
		got, want = withoutStatus(got), withoutStatus(want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %d results, an uncut run has %d; they are not the same", path, len(got), len(want))
	}
}

func withoutStatus(lines []string) []string {
	cut := make([]string, len(lines))
	for i, line := range lines {
		cut[i] = line[:strings.LastIndexByte(line, ' ')]
	}
	return cut
}

// descendants returns the processes below one, parents first.
func descendants(parent int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// the name of the program, in parentheses, may contain anything
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		of, _ := strconv.Atoi(fields[1])
		children[of] = append(children[of], pid)
	}
	all := children[parent]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// kill ends a driver with SIGKILL: alone, with all its children, or a child first. It reports whether the
// driver may have seen a child die. A child goes first only once the plan is recorded: before that, a worker
// that ends changes the plan itself.
func kill(cmd *exec.Cmd, random *rand.Rand, planned bool) (childFirst bool) {
	below := descendants(cmd.Process.Pid)
	switch how := random.IntN(3); {
	case how == 0 || len(below) == 0:
	case how == 1 || !planned:
		defer func() {
			for _, pid := range below {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}()
	default:
		childFirst = true
		_ = syscall.Kill(below[random.IntN(len(below))], syscall.SIGKILL)
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	return childFirst
}

// The real command is killed repeatedly at random instants, alone or with its workers, from the creation of
// its database on. The results that another process had read are there afterwards, the database is sound, and
// --resume completes the plan: each entry once. The long tier kills 1,000 times.
func TestKillsOfTheCommand(t *testing.T) {
	kills := 3
	if need.IsLongTier() {
		kills = 1000
	}
	d := buildCommand(t)
	random := rand.New(rand.NewPCG(19, 9))
	count := struct{ kills, plans, read, children int }{}
	for count.kills < kills {
		path := filepath.Join(t.TempDir(), "r.db")
		sameStatus := true
		for {
			cmd := d.resumed(t, path)
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(random.Int64N(int64(d.wall))))
			read := acknowledgedRows(t, path)
			if kill(cmd, random, len(read) > 0) {
				sameStatus = false
				count.children++
			}
			if killed(t, cmd, &out, path, sameStatus) {
				count.kills++
			}
			count.read += len(read)
			lost(t, read, acknowledgedRows(t, path))
			whole(t, path)
			if slices.Equal(rowsOf(t, path, "SELECT state FROM session"), []string{"complete"}) {
				break
			}
		}
		d.once(t, path, sameStatus)
		count.plans++
	}
	if count.read == 0 {
		t.Error("no result had been read before a kill: nothing is proven")
	}
	tell(t, map[string]int{
		"kills": count.kills, "after-a-worker": count.children, "plans": count.plans,
		"results-of-a-plan": len(d.whole), "results-read-before": count.read,
	})
}

// tell reports what a test counted, in its log and as attributes, which measure.sh keeps.
func tell(t *testing.T, counted map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		t.Logf("%s: %d", name, counted[name])
		t.Attr(name, strconv.Itoa(counted[name]))
	}
}

// killed waits for a command and reports whether it was killed. If not, it has ended by itself; or its worker
// was killed while it loaded the implementations to resume with, which its output says.
func killed(t *testing.T, cmd *exec.Cmd, out fmt.Stringer, path string, sameStatus bool) bool {
	t.Helper()
	err := cmd.Wait()
	state := cmd.ProcessState
	complete := slices.Equal(rowsOf(t, path, "SELECT state FROM session"), []string{"complete"})
	switch {
	case state.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true
	case err == nil && complete, !sameStatus && state.ExitCode() == 1 && complete,
		!sameStatus && state.ExitCode() == 2 && strings.Contains(out.String(), "could not be loaded now"):
		return false
	}
	t.Fatalf("%v, complete %v: %s", err, complete, out)
	return false
}

// lost reports results that were read before and are missing or different.
func lost(t *testing.T, before, after []string) {
	t.Helper()
	for _, row := range before {
		if _, found := slices.BinarySearchFunc(after, row, cmp.Compare); !found {
			t.Errorf("result %s was acknowledged and is lost", row)
		}
	}
}

// A large database is not checked by its readers while a session writes to it, but is checked after that
// session was killed.
func TestASessionThatWritesIsNoUncleanEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	s := openTest(t, path, Options{})
	start(t, s, "all of it", plan(2)...)
	look := func() (journal, written bool) {
		db, err := sql.Open("sqlite3", readDSN(path, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return endedUncleanly(path), writtenNow(ctx, db, path)
	}
	if journal, written := look(); !journal || !written {
		t.Errorf("while a session writes: journal %v, written %v", journal, written)
	}
	if err := s.live.close(); err != nil { // as the kernel does when the process is killed
		t.Fatal(err)
	}
	if journal, written := look(); !journal || written {
		t.Errorf("after its process is gone: journal %v, written %v", journal, written)
	}
}

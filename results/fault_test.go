package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/record"
)

// writeRole records run after run, of cases from a number on, and prints the ID of each once it was
// acknowledged.
func writeRole(arguments []string) error {
	first, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	s, err := Open(ctx, arguments[0], Options{BusyTimeout: 20 * time.Second})
	if err != nil {
		return err
	}
	x, err := s.Start(ctx, record.Session{Request: "write"}, nil)
	if err != nil {
		return err
	}
	for i := first; i < first+count; i++ {
		r := failed(i)
		if err := x.Begin(ctx, record.Item{Case: r.Case, Impl: r.Impl, Seed: r.Seed}); err != nil {
			return err
		}
		if err := x.Record(ctx, &r); err != nil {
			return err
		}
		fmt.Println(r.ID)
	}
	return s.Close()
}

// A writer is killed repeatedly at random instants, on one database. Everything that it acknowledged is
// there, complete.
func TestKillsLoseNothingThatWasAcknowledged(t *testing.T) {
	const kills = 200
	path := filepath.Join(t.TempDir(), "r.db")
	acknowledged := map[string]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	// milliseconds more, as long as writers are killed before they print anything: their start-up time
	// depends on the machine
	startup := 0
	for round := range kills {
		cmd := process("write", path, strconv.Itoa(round*100_000), "100000")
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(5+random.IntN(75)+startup) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("round %d: the writer ended by itself: %v: %s", round, err, out.String())
		}
		lines := strings.Split(out.String(), "\n")
		for _, id := range lines[:len(lines)-1] { // the last line may be torn
			acknowledged[id] = true
		}
		if len(acknowledged) < round {
			startup += 5
		}
		if round%20 == 19 {
			verify(t, path, acknowledged)
		}
	}
	if len(acknowledged) < kills/4 {
		t.Errorf("only %d results were acknowledged in %d rounds: the writers were killed too early to "+
			"prove anything", len(acknowledged), kills)
	}
	t.Logf("%d kills, %d acknowledged results", kills, len(acknowledged))
}

// verify opens the database, has it checked in full, and looks for every acknowledged result with its
// verdicts.
func verify(t *testing.T, path string, acknowledged map[string]bool) {
	t.Helper()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.write(ctx, "mark interrupted sessions", s.sweep); err != nil {
		t.Fatal(err)
	}
	var said string
	if err := s.reader.QueryRow("PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Fatalf("integrity: %s, %v", said, err)
	}
	rows, err := s.reader.Query("SELECT run_ulid FROM run r WHERE status = 'FAIL' AND (SELECT count(*) " +
		"FROM verdict v WHERE v.run_id = r.run_id) = 2")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	stored := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		stored[id] = true
	}
	for id := range acknowledged {
		if !stored[id] {
			t.Errorf("run %s was acknowledged and is lost or torn", id)
		}
	}
	if n := count(t, s, "SELECT count(*) FROM run WHERE status IS NULL"); n > 0 {
		t.Errorf("%d runs of dead processes still count as running", n)
	}
}

// resumeRole resumes, or starts, a plan with as many items as its argument says, and ends when nothing is
// missing.
func resumeRole(arguments []string) error {
	n, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	return completePlan(arguments[0], n, time.Millisecond)
}

// completePlan records the missing items of a plan; each takes some time, as if something ran.
func completePlan(path string, n int, took time.Duration) error {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	x, missing, err := s.Resume(ctx, "cut often")
	if errors.Is(err, ErrNothingToResume) {
		if done, _, err := s.List(ctx, Filter{Limit: 1}); err != nil || len(done) > 0 {
			return err // the one before was killed when all was done
		}
		missing = plan(n)
		x, err = s.Start(ctx, record.Session{Request: "cut often"}, missing)
	}
	if err != nil {
		return err
	}
	for _, item := range missing {
		if err := x.Begin(ctx, item); err != nil {
			return err
		}
		time.Sleep(took)
		r := failed(0)
		r.Case = item.Case
		if err := x.Record(ctx, &r); err != nil {
			return err
		}
	}
	return x.Finish(ctx, true, 0)
}

// A plan whose driver is killed repeatedly ends like an uninterrupted one: each entry once, in one session.
func TestAPlanThatIsCutOftenIsCompletedOnce(t *testing.T) {
	const items = 150
	path := filepath.Join(t.TempDir(), "r.db")
	random := rand.New(rand.NewPCG(5, 6))
	cuts := 0
	for {
		cmd := process("resume", path, strconv.Itoa(items))
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// longer each time, so that it ends on any machine
		patience := 20 + random.IntN(60) + cuts
		killer := time.AfterFunc(time.Duration(patience)*time.Millisecond, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		killer.Stop()
		if err == nil {
			break
		}
		if cuts++; out.Len() > 0 || cuts > 1000 {
			t.Fatalf("after %d cuts: %v: %s", cuts, err, out.String())
		}
	}
	s := openTest(t, path, Options{})
	if n := count(t, s, "SELECT count(*) FROM session"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	if a, b := count(t, s, "SELECT count(*) FROM run WHERE status = 'FAIL'"),
		count(t, s, "SELECT count(DISTINCT case_id) FROM run WHERE status = 'FAIL'"); a != items ||
		b != items {
		t.Errorf("%d results of %d cases, want %d of each", a, b, items)
	}
	t.Logf("%d cuts, %d runs were interrupted", cuts,
		count(t, s, "SELECT count(*) FROM run WHERE status = 'INTERRUPTED'"))
	if cuts == 0 {
		t.Error("the plan was never cut")
	}
}

func TestWritersSideBySide(t *testing.T) {
	const writers = 8
	each := 60
	if need.IsLongTier() {
		each = 1000
	}
	path := filepath.Join(t.TempDir(), "r.db")
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			cmd := process("write", path, strconv.Itoa(i*1000), strconv.Itoa(each))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("writer %d: %v: %s", i, err, out)
			}
		})
	}
	group.Wait()
	s := openTest(t, path, Options{})
	if n := count(t, s, "SELECT count(*) FROM run WHERE status = 'FAIL'"); n != writers*each {
		t.Errorf("%d results, want %d", n, writers*each)
	}
	if n := count(t, s, "SELECT count(DISTINCT run_ulid) FROM run"); n != writers*each {
		t.Errorf("%d different IDs, want %d", n, writers*each)
	}
	tell(t, map[string]int{"processes": writers, "results-of-each": each})
}

// fillRole writes until the file may not grow any more, and prints the error and the number of acknowledged
// results.
func fillRole(arguments []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 600 << 10, Max: 600 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	s, err := Open(ctx, arguments[0], Options{})
	if err != nil {
		return err
	}
	x, err := s.Start(ctx, record.Session{Request: "fill"}, nil)
	if err != nil {
		return err
	}
	for i := range 100_000 {
		r := failed(i)
		r.LogTail = strings.Repeat("log ", 1000)
		if err := x.Record(ctx, &r); err != nil {
			fmt.Println(i, errors.Is(err, ErrFull), err)
			return nil
		}
	}
	return errors.New("the disk never got full")
}

func TestAFullDiskLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	out, err := process("fill", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var stored int
	var said bool
	if _, err := fmt.Sscan(string(out), &stored, &said); err != nil || !said || stored == 0 ||
		!strings.Contains(string(out), "--db") {
		t.Fatalf("want results, then a full disk that says so: %s (%v)", out, err)
	}
	s := openTest(t, path, Options{})
	if n := count(t, s, "SELECT count(*) FROM run"); n != stored {
		t.Errorf("%d results, %d were acknowledged", n, stored)
	}
}

// lockRole takes the write lock of a database, prints that, and releases it at the end of its input.
func lockRole(arguments []string) error {
	s, err := Open(ctx, arguments[0], Options{})
	if err != nil {
		return err
	}
	tx, err := s.writer.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	fmt.Println("locked")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return nil
}

func TestALockThatIsHeldIsWaitedForAndReported(t *testing.T) {
	path := databaseFor(t, 1)
	cmd := process("lock", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	_, err = Open(ctx, path, Options{BusyTimeout: 100 * time.Millisecond})
	if !errors.Is(err, ErrBusy) {
		t.Errorf("the lock is held: %v", err)
	}
	reading := openTest(t, path, Options{ReadOnly: true})
	if got, _, err := reading.List(ctx, Filter{}); err != nil || len(got) != 1 {
		t.Errorf("reading beside a writer: %d, %v", len(got), err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	openTest(t, path, Options{})
}

// A damaged file is either refused and left unchanged, or (if the damage lies in meaningless bytes, or is a
// valid value) opened and read without a panic.
func TestDamagedFilesAreRefusedAndLeftAlone(t *testing.T) {
	whole, err := os.ReadFile(databaseFor(t, 20))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	damages := map[string][]byte{"text": []byte("this is no database, but a file with some text in it that " +
		"is long enough to be one\n"), "zeros": make([]byte, 8192)}
	for at := 4096; at < len(whole); at += 4096 {
		damages[fmt.Sprintf("cut at %d", at)] = whole[:at]
	}
	damages["cut at 50"], damages["cut at 1000"] = whole[:50], whole[:1000]
	for i := range 150 {
		at := random.IntN(len(whole))
		if i < 50 {
			at = random.IntN(100) // the header
		}
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << random.IntN(8)
		damages[fmt.Sprintf("flip %d at %d", i, at)] = flipped
	}
	refused := 0
	for name, text := range damages {
		path := filepath.Join(t.TempDir(), "r.db")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(ctx, path, Options{})
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "--db") {
				t.Errorf("%s: the error does not say which file and what to do: %v", name, err)
			}
			after, readErr := os.ReadFile(path)
			if readErr != nil || !bytes.Equal(after, text) {
				t.Errorf("%s: the refused file was changed (%v)", name, readErr)
			}
			continue
		}
		if strings.HasPrefix(name, "cut") || name == "text" {
			t.Errorf("%s: opened", name)
		}
		_, _, _ = s.List(ctx, Filter{})
		s.Close()
	}
	t.Logf("%d of %d damaged files refused", refused, len(damages))
}

func TestAForeignDatabaseIsLeftAlone(t *testing.T) {
	path := databaseFor(t, 1)
	s := openTest(t, path, Options{})
	if _, err := s.writer.Exec("PRAGMA application_id = 7"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	before := hash(t, path)
	if _, err := Open(ctx, path, Options{}); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v", err)
	}
	if hash(t, path) != before {
		t.Error("the file changed")
	}
	if _, err := Open(ctx, filepath.Dir(path), Options{}); !errors.Is(err, ErrForeign) {
		t.Errorf("a folder: %v", err)
	}
}

// A log without its database, as a careless copy leaves it, must not stop a new database.
func TestALogWithoutItsDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	if err := os.WriteFile(path+"-wal", bytes.Repeat([]byte{1}, 5000), 0o644); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Options{})
	x := start(t, s, "softmax")
	r := failed(1)
	r.Status = op.StatusPass
	if err := x.Record(ctx, &r); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// inside marks this process as a test binary under testreport exec.
const inside = "TESTREPORT_INSIDE"

// The tests that TestHangingTestsEnd runs in a process of its own.
func TestInsideFirst(*testing.T) {}

func TestInsideHangs(t *testing.T) {
	if os.Getenv(inside) == "" {
		return
	}
	t.Run("quick", func(*testing.T) {})
	t.Run("case", func(*testing.T) { time.Sleep(time.Hour) })
}

func TestInsideLogs(t *testing.T) {
	if os.Getenv(inside) == "" {
		return
	}
	t.Run("case", func(t *testing.T) {
		for range 6 {
			time.Sleep(time.Second)
			t.Log("one more part is done")
		}
	})
}

func TestInsideLast(*testing.T) {
	if os.Getenv(inside) == "" {
		return
	}
	time.Sleep(time.Second) // until the reader of the log has sampled the cost of the tests before
	for begin := useOf(os.Getpid()).seconds; useOf(os.Getpid()).seconds < begin+0.3; {
		runtime.Gosched()
	}
}

// A test that hangs ends with its goroutines and fails under its own name. The others run, including a slow
// one that logs its progress. The costs of the tests are written.
func TestHangingTestsEnd(t *testing.T) {
	t.Setenv(inside, "1")
	t.Setenv(hangLimit, "5s") // of which TestInsideLast uses a quarter on an idle machine
	// On a busy machine the end of a test may be read late, and the cost of the next one be counted for it.
	const attempts = 3
	for range attempts {
		whole, last := costOfHangingTests(t)
		if last >= 0.2 && whole >= last {
			return
		}
		t.Logf("the package cost %g s, its dearest test %g s", whole, last)
	}
	t.Errorf("in %d attempts the dearest test never cost what it used, 0.3 s", attempts)
}

// The last lines of a binary may be read after its process was reaped: its last test costs what the process
// used since the test before.
func TestCostOfTheLastTest(t *testing.T) {
	w := &watched{running: map[string]time.Time{}, pid: -1, spent: 1}
	w.atEnd.seconds = 3
	w.follow("\x16--- PASS: TestLast (0.00s)")
	if len(w.costs) != 1 || w.costs[0].ProcessorSeconds != 2 {
		t.Errorf("%+v, want 2 s", w.costs)
	}
}

// costOfHangingTests runs the tests of the inner process and returns the processor seconds of the package and
// of TestInsideLast.
func costOfHangingTests(t *testing.T) (whole, last float64) {
	t.Helper()
	costs := written(t, "")
	t.Setenv(costsFile, costs)
	var out bytes.Buffer
	code, err := execTest([]string{os.Args[0], "-test.run=^TestInside", "-test.v=test2json"}, &out)
	if err != nil || code != 1 {
		t.Fatalf("exit %d, %v\n%s", code, err, out.String())
	}
	for _, want := range []string{
		"\x16--- PASS: TestInsideFirst", "\x16--- PASS: TestInsideLast", "\x16--- PASS: TestInsideLogs (",
		"\x16--- FAIL: TestInsideHangs/case (5.00s)", "\x16--- FAIL: TestInsideHangs (5.00s)",
		"TestInsideHangs/case: neither ended, began nor logged anything for 5s",
	} {
		if n := strings.Count(out.String(), want); n != 1 {
			t.Errorf("%q stands there %d times in\n%s", want, n, out.String())
		}
	}
	c, err := readCosts(costs)
	if err != nil {
		t.Fatal(err)
	}
	c.name(nil)
	folder, _ := os.Getwd()
	return c.of[test{folder, ""}], c.of[test{folder, "TestInsideLast"}]
}

package worker

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// A worker that was kept ready is a new process, is used only by the next start, and is replaced if it died
// while it waited.
func TestReserve(t *testing.T) {
	reserve := &Reserve{}
	defer reserve.Close()
	run := func() int {
		a := fakeAdapter(t, "plain", nil)
		a.Reserve = reserve
		if _, _, err := a.Load(context.Background(), "fake"); err != nil {
			t.Fatal(err)
		}
		pid := a.slot(a.Slot("")).worker.hello.PID
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	waiting := func() int {
		t.Helper()
		for _, o := range reserve.orders {
			select {
			case w := <-o.ready:
				o.ready <- w
				return w.hello.PID
			case <-time.After(time.Minute):
			}
		}
		t.Fatal("nothing is kept ready")
		return 0
	}
	first := run()
	reserve.Refill(context.Background())
	kept := waiting()
	if second := run(); second != kept || second == first {
		t.Errorf("the second start got process %d, want the one kept ready, %d, and not the first, %d",
			second, kept, first)
	}
	reserve.Refill(context.Background())
	dead := waiting()
	if err := syscall.Kill(dead, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, o := range reserve.orders {
		w := <-o.ready
		if !w.child.Wait(time.Minute) {
			t.Fatal("the killed process is not reaped")
		}
		o.ready <- w
	}
	if third := run(); third == dead {
		t.Error("a process that died while it waited was used")
	}
}

package judge

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/tensor"
)

const scannedRows, scannedCols = 37, chunk // a run is a row

// scanned returns a target whose row r has the truth r+1 everywhere. before is called for every row that is
// computed.
func scanned(before func(row int64) error) Target {
	t := Target{Name: "y", DType: op.FP32, Shape: []int64{scannedRows, scannedCols}, Independent: true}
	t.Rows = &Rows{OneErrorBound: true, Fill: func() func(into Values, first, end int64) error {
		return func(into Values, first, end int64) error {
			if err := before(first); err != nil {
				return err
			}
			for i := range into.R {
				into.R[i] = float64(first + 1)
				into.T[i], into.Sim[i] = 1e-6, into.R[i]
			}
			return nil
		}
	}}
	return t
}

// lookAt reads a target and returns how often it saw each row with its truth.
func lookAt(t Target, meanwhile func(row int)) (seen [scannedRows]int32, err error) {
	err = t.eachPiece(piecesOf(t), func(i, first int, v Values) {
		if first == i*scannedCols && len(v.R) == scannedCols && v.R[0] == float64(i+1) &&
			v.Sim[scannedCols-1] == float64(i+1) {
			atomic.AddInt32(&seen[i], 1)
		}
		meanwhile(i)
	})
	return seen, err
}

func once() (all [scannedRows]int32) {
	for i := range all {
		all[i] = 1
	}
	return all
}

// waiting returns the number of readers with rows left.
func waiting(t Target) int {
	t.Rows.scan.mu.Lock()
	defer t.Rows.scan.mu.Unlock()
	return len(t.Rows.scan.readers)
}

// TestScanGoesAround: readers that come while another is in the middle see every row once.
func TestScanGoesAround(t *testing.T) {
	target := scanned(func(int64) error { return nil })
	var others panics.Group
	var join sync.Once
	var seen [4][scannedRows]int32
	err := error(nil)
	seen[0], err = lookAt(target, func(row int) {
		if row < scannedRows/2 {
			return
		}
		join.Do(func() {
			for k := range seen[1:] {
				others.Go(func() { seen[1+k], _ = lookAt(target, func(int) {}) })
			}
		})
	})
	if err := errors.Join(err, others.Wait()); err != nil {
		t.Fatal(err)
	}
	for k, s := range seen {
		if s != once() {
			t.Errorf("reader %d saw rows %v times, want every one once", k, s)
		}
	}
	if n := waiting(target); n != 0 {
		t.Errorf("%d readers are left", n)
	}
}

// TestScanOfTwoComputesOnce: two concurrent readers have everything computed once.
func TestScanOfTwoComputesOnce(t *testing.T) {
	var computed atomic.Int32
	both := make(chan struct{})
	target := scanned(func(int64) error {
		<-both // nothing is computed before both are there
		computed.Add(1)
		return nil
	})
	var group panics.Group
	var seen [2][scannedRows]int32
	for k := range seen {
		group.Go(func() { seen[k], _ = lookAt(target, func(int) {}) })
	}
	for waiting(target) < len(seen) {
		runtime.Gosched()
	}
	close(both)
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	// each core may have taken one row before the second came
	alone := min(scannedRows, runtime.GOMAXPROCS(0))
	if n := int(computed.Load()); n > scannedRows+alone || seen != [2][scannedRows]int32{once(), once()} {
		t.Errorf("%d rows were computed, want at most %d; seen %v times", n, scannedRows+alone, seen)
	}
}

// TestScanOutlivesAReader: a reader that panics, and an unfit row, end only the readers concerned.
func TestScanOutlivesAReader(t *testing.T) {
	unfit := false
	target := scanned(func(row int64) error {
		if unfit && row == 20 {
			return errors.New("is unfit")
		}
		return nil
	})
	var group panics.Group
	var seen [scannedRows]int32
	var fine, broken error
	start := make(chan struct{})
	group.Go(func() {
		seen, fine = lookAt(target, func(row int) {
			if row == 0 {
				close(start)
			}
		})
	})
	group.Go(func() {
		<-start
		broken = panics.Call(func() {
			_, _ = lookAt(target, func(row int) {
				if row == 30 {
					panic("a reader's own fault")
				}
			})
		})
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if fine != nil || seen != once() {
		t.Errorf("the other reader: %v, %v", fine, seen)
	}
	if broken == nil || !strings.Contains(broken.Error(), "a reader's own fault") {
		t.Errorf("the panic became %v", broken)
	}
	unfit = true
	if _, err := lookAt(target, func(int) {}); err == nil || !strings.Contains(err.Error(), "is unfit") {
		t.Errorf("an unfit row: %v", err)
	}
	unfit = false
	if seen, err := lookAt(target, func(int) {}); err != nil || seen != once() {
		t.Errorf("afterwards: %v, %v", err, seen)
	}
}

// TestVerdictsSideBySide checks that judging at the same time as others gives the same verdict as alone, to
// the bit.
func TestVerdictsSideBySide(t *testing.T) {
	target := scanned(func(int64) error { return nil })
	kept, err := target.Kept()
	if err != nil {
		t.Fatal(err)
	}
	var data [6][]byte
	var want, got [6]Verdict
	for k := range data {
		y := make([]float64, len(kept.R))
		for i, r := range kept.R {
			y[i] = r * (1 + float64((i*7919+k)%5-2)*2e-8)
		}
		y[k*chunk*5+k] *= 2
		data[k] = tensor.Encode(op.FP32, y)
		want[k] = judgeValues(kept, data[k])
	}
	var group panics.Group
	for k := range data {
		group.Go(func() { got[k] = judgeValues(target, data[k]) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for k := range data {
		if !reflect.DeepEqual(got[k], want[k]) || got[k].Wrong != 1 {
			t.Errorf("output %d: %d wrong, worst %+v beside others; %d, %+v alone", k, got[k].Wrong,
				got[k].Worst, want[k].Wrong, want[k].Worst)
		}
	}
}

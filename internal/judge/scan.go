package judge

import (
	"runtime"
	"slices"
	"sync"

	"triad/internal/panics"
)

// scan computes the truth of an output row by row, once for all concurrent readers. It is circular: a reader
// that arrives during a scan joins at the next row, and leaves when the scan reaches that row again. No truth
// is kept and no reader waits for another; rows that a late reader missed are computed again. The zero value
// is ready.
type scan struct {
	mu      sync.Mutex
	next    int       // the row that is computed next: see pieces
	cores   int       // at work
	readers []*reader // with rows still to be computed
}

// reader is one judge of the output.
type reader struct {
	look    func(row int, runs []Values)
	left    int   // rows that are still to be computed
	under   int   // rows that are being computed or judged
	failure error // the first: no more rows are computed for it
	done    chan struct{}
}

// read calls look for every row of p on all cores, with the truth of its runs, in no order. It returns an
// error where the truth is not fit to judge. A panic of look is raised in the caller.
func (s *scan) read(t Target, p pieces, look func(row int, runs []Values)) error {
	r := &reader{look: look, left: p.rows(), done: make(chan struct{})}
	if r.left == 0 {
		return nil
	}
	s.mu.Lock()
	s.readers = append(s.readers, r)
	for ; s.cores < min(p.rows(), runtime.GOMAXPROCS(0)); s.cores++ {
		panics.Go(func() { s.work(t, p) }, func(error) {}) // work reports failures to the readers
	}
	s.mu.Unlock()
	<-r.done
	if internal := panics.In(r.failure); internal != nil {
		panic(internal)
	}
	return r.failure
}

// work computes rows until no reader is left.
func (s *scan) work(t Target, p pieces) {
	c := &computing{target: t, pieces: p}
	for {
		row, readers := s.take(p.rows())
		if readers == nil {
			return
		}
		var unfit error
		err := panics.Call(func() { unfit = c.compute(row) })
		if err == nil {
			err = unfit
		}
		for _, r := range readers {
			failure := err
			if failure == nil {
				failure = panics.Call(func() { r.look(row, c.runs) })
			}
			s.finish(r, failure)
		}
	}
}

// computing is the working memory of one core.
type computing struct {
	target Target
	pieces
	grid   *grid
	blocks blocks
	fill   func(into Values, first, end int64) error
	room   Values
	sums   []segment
	runs   []Values // of the row that was computed last
}

// compute computes the truth of a row, and the sums of G4 and G5 that do not depend on the output.
func (c *computing) compute(row int) error {
	t, length := c.target, c.target.rowLength()
	if c.fill == nil {
		c.fill, c.room = t.Rows.Fill(), t.Rows.room(min(c.row, c.n))
		c.grid, c.blocks = gridOf(t), blockShape(t)
	}
	start, end := row*c.row, min((row+1)*c.row, c.n)
	v := c.room.part(0, end-start)
	first, last := int64(start)/length, (int64(end)+length-1)/length
	if err := t.fillRows(c.fill, v, first, last); err != nil {
		return err
	}
	c.runs, c.sums = c.runs[:0], c.sums[:0]
	for i, after := c.ofRow(row); i < after; i++ {
		a, b := c.at(i)
		run := v.part(a-start, b-start)
		if t.Independent {
			before := len(c.sums)
			c.sums = segmentsOf(c.sums, t, c.grid, c.blocks, run, a)
			run.segments = c.sums[before:]
		}
		c.runs = append(c.runs, run)
	}
	return nil
}

// take returns the next row and the readers that need it; nil where no reader is left.
func (s *scan) take(rows int) (row int, readers []*reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.readers) == 0 {
		s.cores--
		return 0, nil
	}
	row, readers = s.next, slices.Clone(s.readers)
	s.next = (s.next + 1) % rows
	for _, r := range readers {
		r.left--
		r.under++
	}
	s.readers = slices.DeleteFunc(s.readers, func(r *reader) bool { return r.left == 0 })
	return row, readers
}

// finish records that a reader is done with a row.
func (s *scan) finish(r *reader, failure error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.under--
	if failure != nil && r.failure == nil {
		r.failure, r.left = failure, 0
		s.readers = slices.DeleteFunc(s.readers, func(o *reader) bool { return o == r })
	}
	if r.left == 0 && r.under == 0 {
		close(r.done)
	}
}

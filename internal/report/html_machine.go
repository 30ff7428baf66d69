package report

import "triad/internal/record"

// Times of different GPUs are not compared on a page: it shows those of the GPU that was timed last.

// gpuOf is the GPU that a record was timed on; "" where its session is not known.
func (p Page) gpuOf(r record.Record) string {
	for _, s := range p.Sessions {
		if s.Session.ID == r.Session {
			return s.Session.Machine.GPU
		}
	}
	return ""
}

// gpu is the GPU of the newest timed record.
func (p Page) gpu() string {
	newest := record.Record{}
	for _, r := range p.Records {
		if len(r.Timings) > 0 && r.ID > newest.ID {
			newest = r
		}
	}
	return p.gpuOf(newest)
}

// timed are the records without the times that another GPU than gpu took.
func (p Page) timed() []record.Record {
	gpu := p.gpu()
	all := make([]record.Record, len(p.Records))
	for i, r := range p.Records {
		if all[i] = r; len(r.Timings) > 0 && p.gpuOf(r) != gpu {
			all[i].Timings = nil
		}
	}
	return all
}

// timedElsewhere counts the records whose times timed leaves out.
func (p Page) timedElsewhere() int {
	gpu, n := p.gpu(), 0
	for _, r := range p.Records {
		if len(r.Timings) > 0 && p.gpuOf(r) != gpu {
			n++
		}
	}
	return n
}

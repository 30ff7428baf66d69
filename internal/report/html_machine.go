package report

import "triad/internal/record"

// Times of different GPUs are not compared on a page: it shows those of the GPU that was timed last.

// ofLastGPU removes the times of all GPUs but the one that was timed last. It returns the records, that GPU
// and the number of records that lost their times. The GPU of an unknown session is "".
func (p Page) ofLastGPU() (records []record.Record, gpu string, elsewhere int) {
	gpus := map[string]string{}
	for _, s := range p.Sessions {
		gpus[s.Session.ID] = s.Session.Machine.GPU
	}
	newest := record.Record{}
	for _, r := range p.Records {
		if len(r.Timings) > 0 && r.ID > newest.ID {
			newest = r
		}
	}
	gpu = gpus[newest.Session]
	records = make([]record.Record, len(p.Records))
	for i, r := range p.Records {
		if len(r.Timings) > 0 && gpus[r.Session] != gpu {
			r.Timings = nil
			elsewhere++
		}
		records[i] = r
	}
	return records, gpu, elsewhere
}

// timed returns only the records of ofLastGPU.
func (p Page) timed() []record.Record {
	records, _, _ := p.ofLastGPU()
	return records
}

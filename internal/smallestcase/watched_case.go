package smallestcase

import (
	"path/filepath"
	"slices"

	"triad/internal/check"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/shrink"
	"triad/internal/watched"
)

// mostWatched limits the findings of a case that are kept.
const mostWatched = 4

// watch runs the smallest wrong case of a CUDA file once more, with every access reported, and adds the
// findings of `triad check` on it to the diagnosis. If that shows nothing, the case that the search began
// with is watched, if it is small. A failed build is no error: the rest of the diagnosis stands.
func (p *prober) watch(calls *watched.Calls, found *shrink.Finding, d *record.Diagnosis) {
	hidden := found.Record.Status == op.StatusHang || found.Record.Status == op.StatusBuildFail
	if calls == nil || p.shim == "" || hidden {
		return
	}
	cases := []record.Record{found.Record}
	elements := int64(1)
	for _, d := range p.base.Case.Dims {
		elements *= max(1, d.Value)
	}
	if elements <= watched.MostElements {
		cases = append(cases, p.base)
	}
	for _, r := range cases {
		report := p.watched(calls, r)
		for _, f := range report.Findings {
			if kept, ok := p.findingOf(f, len(d.Findings)+1); ok && len(d.Findings) < mostWatched {
				d.Findings = append(d.Findings, kept)
			}
		}
		d.Notes = append(d.Notes, report.Notes...)
		if len(d.Findings) > 0 {
			break
		}
	}
	found.Facts.Reported = len(d.Findings) > 0
}

// watched runs one case with every access reported. The probe's own outcome does not matter here.
func (p *prober) watched(calls *watched.Calls, r record.Record) check.Report {
	watched := watched.NewBackend(p.backends[0], calls)
	sizes := shrink.Sizes{}
	for _, d := range p.request.Operators[0].Spec.Dims {
		if d.Default == "" {
			sizes[d.Name] = r.Case.Dims.Get(d.Name)
		}
	}
	p.runOn(watched, shrink.Probe{Sizes: sizes, Distribution: r.Case.Distribution})
	return watched.Found
}

// findingOf returns a finding as records keep it; false if it says nothing of the kernel.
func (p *prober) findingOf(f check.Finding, number int) (record.Finding, bool) {
	if slices.Contains([]check.Kind{check.NeverEnds, check.ExitStatus, check.Leak}, f.Kind) {
		return record.Finding{}, false
	}
	f.Call = "" // the diagnosis names the case
	if f.Launched != nil && f.Launched.File == p.shim {
		f.Launched = nil // by the code that triad wrote
	}
	if f.Allocated != nil && !filepath.IsAbs(f.Allocated.File) {
		f.Allocated = nil // by the code that calls kernels
	}
	kept := record.Finding{Kind: string(f.Kind), Message: f.Sentence(), Text: f.Text(number,
		check.WorkingFolder())}
	kept.Meaning, kept.Mending = f.Explained()
	kept.Happens, kept.Remedy = f.Brief()
	kept.Where = whereOf(f.Kernel, f.Place, f.Block, f.Thread)
	kept.Other = whereOf(f.Kernel, f.Other, f.OtherBlock, f.OtherThread)
	return kept, true
}

// whereOf returns a place as records keep it; nil if no line is known.
func whereOf(kernel string, at *check.Place, block, thread *[3]int) *record.Where {
	if at == nil || at.Line == 0 {
		return nil
	}
	return &record.Where{Kernel: kernel, Block: block, Thread: thread, File: at.File, Line: at.Line}
}

// diagnosisOf assembles what is known of a wrong run.
func diagnosisOf(f shrink.Finding, d record.Diagnosis, repeat string) record.Diagnosis {
	r := f.Record
	d.Dims, d.Distribution = record.DimMembers(r.Case.Dims), r.Case.Distribution
	d.Status, d.Message, d.Advice, d.Repeat = r.Status, messageOf(r), f.Advice(), repeat
	return d
}

// messageOf returns the sentence of a record, or of its first wrong output.
func messageOf(r record.Record) string {
	for _, v := range r.Outputs {
		if v.Status.Weight() == op.Bad && v.Message != "" {
			return v.Message
		}
	}
	return r.Message
}

// Keep adds diagnoses to the records of a result, and records them.
func Keep(all []shrink.Diagnosed, records []record.Record,
	diagnose func(run string, d record.Diagnosis) error,
) error {
	for _, d := range all {
		for i := range records {
			if records[i].ID == d.Run {
				records[i].Diagnosis = &d.Diagnosis
			}
		}
		if err := diagnose(d.Run, d.Diagnosis); err != nil {
			return err
		}
	}
	return nil
}

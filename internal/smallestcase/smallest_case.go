// Package smallestcase runs the search for the smallest case on which an added file is wrong, and watches
// that case once more with every access reported.
package smallestcase

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"triad/internal/advice"
	"triad/internal/backend"
	"triad/internal/firstlook"
	"triad/internal/op"
	"triad/internal/ownfile/added"
	"triad/internal/ownfile/params"
	"triad/internal/ownkernels"
	"triad/internal/panics"
	"triad/internal/participants"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/shrink"
	"triad/internal/watched"
)

// shrinkLimit limits the search for the smallest failing case of one function.
const shrinkLimit = 6 * time.Second

// Judged holds a run whose wrong cases are searched.
type Judged struct {
	Files *participants.OwnFiles
	// Twin returns the file of a record that the emulator judged on a machine with a GPU; nil if it judged
	// none.
	Twin    func(record.Record) *ownkernels.Backend
	Request run.Request
	Result  run.Result
	Added   []string // the words of --add and its flags
}

// Find searches, for every wrong pass of every added file, the smallest case that shows it. The emulator
// shrinks its own findings, even on a machine with a GPU. calls watches the smallest cases; nil: none is
// watched.
func Find(ctx context.Context, judged Judged, calls *watched.Calls) ([]shrink.Diagnosed, error) {
	mine, request, result := judged.Files, judged.Request, judged.Result
	if mine == nil || result.Interrupted {
		return nil, nil
	}
	var all []shrink.Diagnosed
	for _, suspect := range shrink.Suspects(result.Records, ownkernels.Family) {
		i := slices.IndexFunc(mine.Files,
			func(f *ownkernels.File) bool { return f.Name == suspect.Record.Impl })
		if i < 0 {
			continue // there is no file to probe
		}
		file, asked := mine.Files[i], backend.Backend(mine)
		if twin := judged.twin(suspect.Record); twin != nil {
			file, asked = twin.Files[0], twin
		}
		p := &prober{
			ctx: ctx, backends: []backend.Backend{asked}, request: request,
			base: suspect.Record, file: file,
			shim: watched.CUDAFileOf(asked, backend.Job{
				Implementation: backend.Implementation{Name: file.Name},
			}),
			until: time.Now().Add(shrinkLimit),
		}
		search := &shrink.Search{
			Spec: request.Operators[0].Spec, Suspect: suspect, Run: p.run, Stop: p.stop,
			Fixed: request.Options.Dims, Equal: file.Covers.Equal, Assumed: file.Assumed(),
			Shares: file.Shares, NoBarrier: file.NoBarrier, Python: file.IsPython(),
		}
		if search.Python {
			_, function, _ := strings.Cut(suspect.Record.Impl, ":") // the file has several
			text := firstlook.UsedBy(file.Text(), function)
			search.Masks, search.NoSum = advice.MaskedLoads(text), advice.AddsNothingUp(text)
		} else {
			search.Divided = advice.IntegerDivisions(file.Text())
		}
		found, d := search.Find(), record.Diagnosis{}
		found.Facts.OnlyAt = judged.onlyAt(suspect.Record)
		p.watch(calls, &found, &d)
		words := added.WordsOfFile(found.Record.Impl, judged.Added)
		words = append(words, guessedMap(file, found.Record.Case.Pass)...)
		repeat := record.Repeat(found.Record, words)
		d = diagnosisOf(found, d, repeat)
		addCauses(&d, found, file)
		all = append(all, shrink.Diagnosed{Finding: found, Run: suspect.Record.ID, Diagnosis: d})
		if p.fault != nil {
			return nil, p.fault
		}
	}
	return all, nil
}

// guessedMap returns the flag, one word, that fixes what parameters stand for whose names say too little: a
// single case may not bear out the reading that others did. There is none if the user gives a mapping.
func guessedMap(file *ownkernels.File, pass op.Pass) []string {
	for _, b := range file.Bindings {
		guessed, _ := params.GuessedParameters(b)
		if b.Pass == pass && len(b.Options.Map) == 0 && len(guessed) > 0 {
			return []string{
				"--map=" + strings.NewReplacer(" is ", "=", " ", "").Replace(strings.Join(guessed, ",")),
			}
		}
	}
	return nil
}

func (j Judged) twin(r record.Record) *ownkernels.Backend {
	if j.Twin == nil {
		return nil
	}
	return j.Twin(r)
}

// prober runs single cases of one added file for the search. Nothing is recorded and nothing is timed.
type prober struct {
	ctx      context.Context
	backends []backend.Backend
	request  run.Request
	base     record.Record // the wrong record
	file     *ownkernels.File
	shim     string // the compiled file; "" if the file is not CUDA
	until    time.Time
	fault    error // an internal error of a probe
}

func (p *prober) stop() bool {
	return p.fault != nil || time.Now().After(p.until) || p.ctx.Err() != nil
}

// run judges one case; it returns nil if the case cannot be run.
func (p *prober) run(probe shrink.Probe) *record.Record {
	backends := p.backends
	if probe.Attribute != "" {
		file, err := p.file.WithAttribute(probe.Attribute, probe.Value)
		if err != nil {
			return nil
		}
		defer file.Close() // its verdict stands
		backends = []backend.Backend{&ownkernels.Backend{Files: []*ownkernels.File{file}}}
	}
	return p.runOn(backends[0], probe)
}

// runOn judges one case on a backend; it returns nil if the case cannot be run.
func (p *prober) runOn(b backend.Backend, probe shrink.Probe) *record.Record {
	request := p.request
	request.Impls, request.Single = []string{p.base.Impl}, !probe.Relations
	request.Explain, request.Gradients = false, false
	request.Timing = nil // nobody uses the time of a probe
	request.Options = p.options(probe)
	result, err := run.Unrecorded(p.ctx, p.ctx, b, request, false)
	if panics.In(err) != nil {
		p.fault = err
	}
	if err != nil || len(result.Records) == 0 {
		return nil
	}
	// There are several records if the spec gives an attribute a value on some shape: a wrong one decides.
	bad := slices.IndexFunc(result.Records, func(r record.Record) bool { return r.Status.Weight() == op.Bad })
	return &result.Records[max(bad, 0)]
}

// options returns the options for the one case of a probe.
func (p *prober) options(probe shrink.Probe) op.Options {
	base := p.base.Case
	o := op.Options{
		Level: op.LevelFull, DTypes: []string{base.DType}, Passes: []op.Pass{base.Pass},
		Dims: p.sizes(probe), Attributes: map[string]string{}, Distributions: []string{probe.Distribution},
		Layouts: []string{base.Layout}, Device: p.request.Options.Device, Memory: p.request.Options.Memory,
	}
	if probe.Upstream != "" {
		o.Upstreams = []string{probe.Upstream}
	}
	if base.Saved != "" {
		o.Saved = []string{base.Saved}
	}
	for _, a := range p.request.Operators[0].Spec.Attributes {
		if text, formula := a.Default.(string); !(formula && a.Type == "float") || text == "" {
			o.Attributes[a.Name] = base.Attrs.Text(a.Name)
		}
		if a.Name == probe.Attribute {
			o.Attributes[a.Name] = probe.Value
		}
	}
	return o
}

// sizes returns the sizes of a probe; dims with a number as their default keep their size of the wrong case:
// otherwise each of their values in the operator's shapes would be judged, of any size.
func (p *prober) sizes(probe shrink.Probe) map[string]int64 {
	all := maps.Clone(probe.Sizes)
	for _, d := range p.request.Operators[0].Spec.Dims {
		_, asked := all[d.Name]
		if _, err := strconv.ParseInt(d.Default, 10, 64); err == nil && !asked {
			all[d.Name] = p.base.Case.Dims.Get(d.Name)
		}
	}
	return all
}

// Print prints the smallest wrong case of every added file, the emulator's findings in it, their usual
// cause, and the command that repeats it.
func Print(to io.Writer, style report.Style, all []shrink.Diagnosed) error {
	for _, f := range all {
		r := f.Record
		_, err := fmt.Fprintf(to, "\nThe smallest case found that shows what is wrong with %s:\n", r.Impl)
		if err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
		r.ID = ""
		if err := report.Bad(to, style, r); err != nil {
			return err
		}
		if err := report.Diagnosis(to, style, f.Diagnosis); err != nil {
			return err
		}
	}
	return nil
}

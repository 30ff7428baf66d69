// Package ownkernels is the backend of the files that a user adds with --add: it reads each file
// (ownfile), writes the code that calls its functions into the cache, and builds and runs it in a worker
// of its own. It knows neither flags nor the order of a run, and decides no verdict.
package ownkernels

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/advice"
	"triad/internal/backend"
	"triad/internal/fileversion"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/shim"
	"triad/internal/panics"
)

// Family is the first part of the names of the implementations: mine/softmax.
const Family = "mine"

// Backend runs added files, each built and run separately. Trial means that its runs decide how files are
// read, and are judged again in the run that follows.
type Backend struct {
	Files []*File
	Trial bool
}

var _ backend.Backend = (*Backend)(nil)

// Name returns the name of the backend.
func (b *Backend) Name() string { return Family }

// Families returns the first parts of the names of its implementations.
func (b *Backend) Families() []string { return []string{Family} }

// Load builds the files in parallel. A file that cannot be built does not stop the others.
func (b *Backend) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	replies := make([]backend.LoadReply, len(b.Files))
	hellos, failures := make([]backend.HelloReply, len(b.Files)), make([]error, len(b.Files))
	var group panics.Group
	for i, f := range b.Files {
		group.Go(func() { replies[i], hellos[i], failures[i] = f.load(ctx, operator) })
	}
	if err := group.Wait(); err != nil {
		return backend.LoadReply{}, backend.HelloReply{}, err
	}
	all := backend.LoadReply{Implementations: []backend.Implementation{}}
	hello := backend.HelloReply{Versions: map[string]string{}}
	for i, reply := range replies {
		all.Implementations = append(all.Implementations, reply.Implementations...)
		all.Failed = append(all.Failed, reply.Failed...)
		if reply.Build != nil {
			all.Build = reply.Build
		}
		maps.Copy(hello.Versions, hellos[i].Versions)
	}
	return all, hello, errors.Join(failures...)
}

// load builds one file. A fault of the file or of the toolchain is a failure of this implementation only.
func (f *File) load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	reply, hello, err := f.loadWithOthers(ctx, operator)
	failed := backend.LoadFailure{Implementation: f.Name, Status: op.StatusBuildFail}
	var missing *backend.Unavailable
	var broken *backend.BuildFailure
	var trouble *backend.HostTrouble
	switch {
	case errors.As(err, &trouble):
		failed.Status, failed.Message, failed.Log = op.StatusInterrupted, trouble.Sentence, trouble.Log
		return backend.LoadReply{Failed: []backend.LoadFailure{failed}}, hello, nil
	case errors.As(err, &missing):
		failed.Status, failed.Message = op.StatusUnavailable, missing.Sentence
		return backend.LoadReply{Failed: []backend.LoadFailure{failed}}, hello, nil
	case errors.As(err, &broken):
		failed.Status, failed.Message, failed.Log = broken.Verdict(), broken.Sentence, broken.Log
		f.limit(ctx, &failed)
		f.limitOfJoined(&failed)
		return backend.LoadReply{Failed: []backend.LoadFailure{failed}}, hello, nil
	case err != nil:
		return reply, hello, err
	}
	for i := range reply.Implementations {
		reply.Implementations[i].Source, reply.Implementations[i].Flags = f.source, f.interpretation.Flags
		reply.Implementations[i].Doubts = f.doubtsOf(reply.Implementations[i].Pass)
		reply.Implementations[i].Draws = f.Bindings[0].Draws
		if b := f.binding(reply.Implementations[i].Pass); b != nil && !f.IsPython() {
			reply.Implementations[i].Constraint = shim.Constraint(b)
		}
		if at := strings.Index(reply.Implementations[i].Constraint, cutImport); at >= 0 {
			if said := reply.Implementations[i].Constraint[at:]; !slices.Contains(f.Matched, said) {
				f.Matched = append(f.Matched, said)
			}
		}
		if f.IsPython() && !f.launches {
			reply.Implementations[i].Calls = "torch"
		}
		if f.interpreted {
			reply.Implementations[i].Device = "interpreter"
		}
	}
	if len(reply.Failed) > 0 {
		failed = reply.Failed[0]
		failed.Implementation = f.Name
		failed.Message = advice.ExplainBuild(f.placeMessage(failed.Message, failed.Log))
		f.limit(ctx, &failed)
		f.limitOfJoined(&failed)
		reply.Failed = []backend.LoadFailure{failed}
	}
	return reply, hello, nil
}

// cutImport begins what a constraint says of an import that took too long (pybridge/user_files/own_lines.py).
const cutImport = "its import ran for "

// doubtsOf returns the guesses that a pass was read with. An additional logarithm may be to base 2.
func (f *File) doubtsOf(pass op.Pass) []backend.Doubt {
	doubts := slices.Clone(f.doubts[pass])
	for _, b := range f.Bindings {
		if b.Pass != pass {
			continue
		}
		for _, name := range shim.ReturnedLogarithms(b) {
			doubts = append(doubts, backend.Doubt{Output: name, Why: fmt.Sprintf("%s returns %s, which is "+
				"judged as the natural logarithm that the operator has, and may be meant otherwise, as to "+
				"base 2: all else is right. Leave it out, or return it under another name",
				b.Function.Name, name)})
		}
	}
	return doubts
}

// limit makes a build failure neutral that is due to a limit of this machine or of the emulator rather than
// to the file.
func (f *File) limit(ctx context.Context, failed *backend.LoadFailure) {
	if failed.Status != op.StatusBuildFail {
		return
	}
	if text := program.LacksOfCUB(failed.Message, failed.Log); text != "" && !f.interpretation.Workers.GPU {
		failed.Status, failed.Message = op.StatusUnsupported, text
		return
	}
	status, sentence, ok := advice.BuildLimit(failed.Message, failed.Log, !f.interpretation.Workers.GPU)
	switch {
	case ok:
		failed.Status, failed.Message = status, sentence
	case strings.Contains(failed.Message, inTheShim): // the call is our interpretation
		failed.Status = op.StatusUnsupported
	case f.inline != "" && filepath.Ext(f.Path) == ".py" &&
		strings.Contains(failed.Message, "redefinition of"):
		failed.Status = op.StatusUnsupported
		failed.Message += ": all strings of the file are compiled together; put each into a file of its own"
	case f.isCUDA(ctx):
		failed.Status = op.StatusUnsupported
		failed.Message = "nvcc compiles it, and the emulator does not: run it where a GPU is (" +
			failed.Message + ")"
	}
}

// isCUDA reports whether nvcc compiles a .cu that the emulator's compiler has refused.
func (f *File) isCUDA(ctx context.Context) bool {
	w := f.interpretation.Workers
	return filepath.Ext(f.Path) == ".cu" && !w.GPU && w.Accepts != nil && w.Confine == nil &&
		w.Accepts(ctx, f.Path, f.interpretation.Options.Flags)
}

// ownAdapters ends the name of the header with the shim's work around a call.
const ownAdapters = "/own_adapters.cuh"

// inTheShim is the sentence about a message that concerns the shim.
const inTheShim = "this line is in the code that triad wrote"

// placeMessage returns a compiler's first message with its line of the user's file, or says that it concerns
// the shim.
func (f *File) placeMessage(message, log string) string {
	at, line, text, found := build.CompilerMessage(log)
	_, inPython, raised := strings.Cut(message, "ImportError: triad: ")
	switch {
	case raised:
		return inPython
	case found && f.inlineAt != "" && filepath.Base(at) == filepath.Base(f.inlineAt):
		return fmt.Sprintf("%s:%s: %s", f.Path, line, text)
	case found && !strings.Contains(at, filepath.Base(f.shim)):
		return fmt.Sprintf("%s:%s: %s", at, line, text)
	case strings.Contains(message, filepath.Base(f.shim)) && !strings.Contains(message, f.Path):
		return message + "; " + inTheShim + " to call your function, not in your file: " +
			"check the types of its parameters, or name them with --map"
	}
	return message
}

// Run runs a job in the worker of its file.
func (b *Backend) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	f := b.File(job.Implementation.Name)
	if f == nil {
		return backend.Outcome{}, fmt.Errorf("run %s: no file of that name was added",
			job.Implementation.Name)
	}
	if most := f.wantsIntegers(job); most > 0 && !areIntegers(job.Inputs, most) {
		return backend.Outcome{Status: op.StatusUnsupported, Sentence: notIntegers(most)}, nil
	}
	job, declined := b.Called(f.withFiniteUnread(job))
	if declined != "" {
		return backend.Outcome{Status: op.StatusUnsupported, Sentence: declined}, nil
	}
	outcome, err := f.runJob(ctx, job, b.Trial)
	if err == nil && job.Empty() {
		advice.ExplainEmpty(&outcome, f.dynamicShared)
	}
	if err == nil {
		f.assertsSizes(&outcome)
		f.endsForSizes(&outcome, job.Empty())
		f.tookLong(&outcome, job)
	}
	if err == nil {
		f.missesNames(&outcome)
		advice.ExplainThrown(&outcome)
		advice.Explain(&outcome, f.launchLines, f.dynamicShared)
	}
	if err == nil && f.IsPython() {
		advice.ExplainDeclined(&outcome, f.raised(outcome.Where), !f.interpretation.Workers.GPU)
		f.givesOther(&outcome, job)
		f.mixesDTypes(&outcome, job)
		returnsOthers(&outcome)
		if own := f.binding(job.Implementation.Pass); own != nil && outcome.Status == op.StatusUnsupported {
			outcome.Sentence += ownfile.DeclinedLine(own, outcome.Sentence)
		}
		if !b.Trial && f.raisesForCalls(outcome.Where, job.Implementation.Pass) {
			advice.ExplainRaised(&outcome)
		}
	}
	if outcome.Where != nil && f.inline != "" && outcome.Where.File == f.inlineAt {
		outcome.Where.File = f.Path // its lines are the same
	}
	if at := outcome.Where; at != nil && (at.File == f.shim || strings.HasSuffix(at.File, ownAdapters)) {
		outcome.Where = nil // a line of the shim is no help to the user
	}
	return outcome, err
}

// Called returns a job with the words that the library of its file gives a CUDA function, or why the function
// is not judged on it.
func (b *Backend) Called(job backend.Job) (called backend.Job, declined string) {
	f := b.File(job.Implementation.Name)
	if f == nil || f.IsPython() {
		return job, ""
	}
	function := f.binding(job.Implementation.Pass)
	if function == nil {
		return job, fmt.Sprintf("%s has no %v", f.Name, job.Implementation.Pass)
	}
	call := binding.Call{Outputs: job.Outputs}
	for _, t := range job.Inputs {
		call.Inputs = append(call.Inputs, op.TensorType{Name: t.Name, DType: t.DType, Shape: t.Shape})
		if !t.IsContiguous() {
			call.Gaps = append(call.Gaps, t.Name)
		}
	}
	for _, a := range job.Attrs {
		call.Attributes = append(call.Attributes, a.Number)
	}
	job.Words, declined = shim.Words(function, call)
	return job, declined
}

// binding returns the function that is judged in a pass, or nil if there is none.
func (f *File) binding(pass op.Pass) *binding.Binding {
	at := slices.IndexFunc(f.Bindings, func(b *binding.Binding) bool { return b.Pass == pass })
	if at < 0 {
		return nil
	}
	return f.Bindings[at]
}

// raisesForCalls reports whether an exception of a Python function is no evidence against it: the function
// was right in another call, or it raised outside of a kernel. Assumptions that hold for every call are
// blamed first. A trial counts exceptions and reads them differently.
func (f *File) raisesForCalls(where *backend.Where, pass op.Pass) bool {
	launches := func(b *binding.Binding) bool { return b.Pass == pass && ownfile.Launches(b, where.Kernel) }
	return !slices.ContainsFunc(f.doubts[pass], backend.Doubt.Everywhere) &&
		(f.right[pass] || where == nil || !slices.ContainsFunc(f.Bindings, launches))
}

// runJob runs a job in the worker, unless a trial has run the same one. On a GPU two runs may differ.
func (f *File) runJob(ctx context.Context, job backend.Job, trial bool) (backend.Outcome, error) {
	if f.interpretation.Workers.GPU {
		return f.adapter.Run(ctx, job)
	}
	return f.kept.run(ctx, job, trial, f.adapter.Run)
}

// assertsSizes makes a crash UNSUPPORTED that is a failed assert about the sizes of a function's arguments:
// it names the cases that the function is not written for.
func (f *File) assertsSizes(outcome *backend.Outcome) {
	_, rest, _ := strings.Cut(outcome.Log, "Assertion `")
	asserted, _, failed := strings.Cut(rest, " failed")
	if outcome.Status != op.StatusCrash || !failed || f.IsPython() {
		return
	}
	asserted = strings.TrimRight(asserted, "`'") // as on a device, or on the host
	if slices.ContainsFunc(f.Bindings,
		func(b *binding.Binding) bool { return adapters.SaysSizes(b, asserted) }) {
		outcome.Status, outcome.Sentence = op.StatusUnsupported,
			"an assert about its sizes does not hold: "+asserted
	}
}

// mostSmall is the maximum number of elements of a call that no function takes long for, even without a GPU.
const mostSmall = 1 << 14

// tookLong makes a hang neutral that may only be a slow run of many elements in the emulator or Triton's
// interpreter, if no run of as much work has finished: a GPU is a thousand times as fast.
func (f *File) tookLong(outcome *backend.Outcome, job backend.Job) {
	elements := int64(0)
	for _, t := range job.Inputs {
		elements += t.Elements()
	}
	for _, t := range job.Outputs {
		elements += t.Elements()
	}
	if outcome.Status == op.StatusHang && !f.interpretation.Workers.GPU && (!f.IsPython() || f.interpreted) &&
		outcome.Usual == 0 && elements > mostSmall &&
		strings.HasPrefix(outcome.Sentence, "no answer to run within ") {
		outcome.Status = op.StatusUnsupported
		outcome.Sentence = "it takes too long without a GPU: " + outcome.Sentence
	}
}

// Measure prepares a call to be timed, in the worker of its file.
func (b *Backend) Measure(ctx context.Context, job backend.MeasureJob) (
	backend.Candidate, backend.Outcome, error,
) {
	f := b.File(job.Implementation.Name)
	if f == nil {
		return nil, backend.Outcome{}, fmt.Errorf("time %s: no file of that name was added",
			job.Implementation.Name)
	}
	var declined string
	if job.Job, declined = b.Called(job.Job); declined != "" {
		return nil, backend.Outcome{Status: op.StatusUnsupported, Sentence: declined}, nil
	}
	return f.adapter.Measure(ctx, job)
}

// CUDAFile returns the kernel file that is built for an implementation, or "" if it is not CUDA.
func (b *Backend) CUDAFile(implementation string) string {
	f := b.File(implementation)
	if f == nil || f.IsPython() {
		return ""
	}
	return f.shim
}

// File returns the file of an implementation, or nil if there is none.
func (b *Backend) File(implementation string) *File {
	i := slices.IndexFunc(b.Files, func(f *File) bool { return f.Name == implementation })
	if i < 0 {
		return nil
	}
	return b.Files[i]
}

// Close ends the workers of all files.
func (b *Backend) Close() error {
	var all error
	for _, f := range b.Files {
		all = errors.Join(all, f.adapter.Close())
	}
	return all
}

// Versions returns the path of every file and the commit of its repository.
func (b *Backend) Versions(ctx context.Context) map[string]string {
	all := map[string]string{}
	for _, f := range b.Files {
		all[f.Name] = f.Path + fileversion.Commit(ctx, f.Path)
	}
	return all
}

// givesOther makes an outcome neutral in which a Python function returned floats of another type than the
// operator's and the user did not request its dtype: that may be intended, as by an author who makes every
// result fp16.
func (f *File) givesOther(outcome *backend.Outcome, job backend.Job) {
	if len(f.interpretation.Options.DTypes) > 0 || outcome.Status != op.StatusUnknown {
		return
	}
	for _, launch := range outcome.Launches {
		for _, o := range launch.Outputs {
			for _, want := range job.Outputs {
				if want.Name != o.Name || !isFloat(o.DType) || !isFloat(want.DType.String()) ||
					o.DType == want.DType.String() {
					continue
				}
				outcome.Status, outcome.Launches = op.StatusUnsupported, nil
				outcome.Sentence = fmt.Sprintf("it gives %s in %s for %v: say --dtype %s if it is to keep "+
					"%[3]v", o.Name, o.DType, want.DType, job.DType)
				return
			}
		}
	}
}

// isFloat reports whether a dtype is one of PyTorch's plain floats.
func isFloat(dtype string) bool {
	return dtype == op.FP32.String() || dtype == op.FP64.String() || dtype == op.FP16.String() ||
		dtype == op.BF16.String()
}

// mixedTypes lists phrases with which Triton and torch refuse a program for its dtypes, whatever the numbers:
// a function without a version for 16 bits, and a product of two dtypes.
var mixedTypes = []string{
	"Expected dtype [", "must be same dtype", "must have the same dtype", "to have the same dtype",
}

// mixesDTypes makes an outcome neutral in which Triton or torch refused a Python function in 16 bits, if the
// user did not request these and it also takes fp32: it was not written for them.
func (f *File) mixesDTypes(outcome *backend.Outcome, job backend.Job) {
	refuses := func(words string) bool { return strings.Contains(outcome.Sentence, words) }
	if outcome.Status != op.StatusCrash || len(f.interpretation.Options.DTypes) > 0 || !f.takesFP32(job) ||
		!slices.ContainsFunc(mixedTypes, refuses) {
		return
	}
	who := "Triton"
	if refuses("to have the same dtype") {
		who = "torch"
	}
	outcome.Status = op.StatusUnsupported
	outcome.Sentence = fmt.Sprintf("%s refuses it in %s: %s. Say --dtype %[2]s if it is to take it", who,
		job.DType, outcome.Sentence)
}

// returnsOthers makes an outcome neutral if the values that a Python function returned could not be matched
// to the outputs (pybridge/user_files/returned_values.py): it returns fewer than the operator has, or
// more with equal sizes.
func returnsOthers(outcome *backend.Outcome) {
	if why, is := strings.CutPrefix(outcome.Sentence, "ReturnedOtherwise: "); is &&
		outcome.Status == op.StatusCrash {
		outcome.Status, outcome.Sentence = op.StatusUnsupported, why
	}
}

// takesFP32 reports whether the function of a job in 16 bits is judged in fp32 as well.
func (f *File) takesFP32(job backend.Job) bool {
	return job.DType != op.FP32.String() && slices.ContainsFunc(f.Bindings, func(b *binding.Binding) bool {
		return b.Pass == job.Implementation.Pass && slices.Contains(b.DTypes(), op.FP32.String())
	})
}

package ownfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/declared"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/params"
)

// SeveralError: several functions of a file can be judged, and each is a row of its own.
type SeveralError struct {
	Names   []string
	Message string
}

func (e *SeveralError) Error() string { return e.Message }

// Bind finds the functions of a file that are to be judged, one for each pass it has, and matches them;
// passes are those that are asked for. The error is a *op.UsageError, or a
// *SeveralError where several functions fit a pass.
func Bind(file *cfacts.File, r binding.Request, spec *op.Spec, passes []op.Pass, options binding.Options) (
	[]*binding.Binding, error,
) {
	if err := declared.CheckLines(file, options.Operators); err != nil {
		return nil, err
	}
	r.Operator = spec.Name
	options.Arguments = r.Arguments
	bindings, err := bindPasses(file, r, spec, passes, options)
	bindings, err = withNamesakes(file, r, passes, bindings, err)
	if others := ofOthers(file, r, spec.Passes()); err == nil && others != "" {
		bindings[0].Notes = append(bindings[0].Notes, declared.NotTaken+others)
	}
	return bindings, err
}

// bindPasses matches the functions of each pass.
func bindPasses(file *cfacts.File, r binding.Request, spec *op.Spec, passes []op.Pass,
	options binding.Options,
) (bindings []*binding.Binding, err error) {
	var several *SeveralError
	var misfit error // of a backward, where the forward is judged all the same
	found, through := false, false
	for _, pass := range spec.Passes() {
		if through { // the backward of an autograd function is its own
			break
		}
		ranks := eligible(file, r, pass)
		if r.Pass != op.PassUnknown && r.Pass != pass && (pass == op.Backward || !match.Autograd(file)) ||
			len(ranks) == 0 {
			continue
		}
		asked := slices.Contains(passes, pass) && (r.Pass == op.PassUnknown || r.Pass == pass)
		b, err := bindFirst(file, ranks, spec, pass, options)
		err = cmp.Or(err, refersAlone(b, r))
		if more := (*SeveralError)(nil); errors.As(err, &more) {
			if several == nil {
				several = more
			} else if asked {
				several.Names = append(several.Names, more.Names...)
			}
			found = found || asked
			continue
		}
		switch {
		case err == nil: // a forward that is not asked for makes what its backward takes
			bindings = append(bindings, b)
			found = found || asked
			if back := throughAutograd(b); back != nil &&
				(r.Pass == op.PassUnknown || r.Pass == op.Backward) {
				bindings, through = append(bindings, back), true
				found = found || slices.Contains(passes, op.Backward)
			}
		case asked && pass == op.Backward && found && r.Pass == op.PassUnknown && len(options.Map) == 0 &&
			options.Contract == "": // what the user said is to be right
			misfit = err
		case asked:
			return nil, err
		}
	}
	switch {
	case !found:
		return nil, noFunction(file, r, passes)
	case len(bindings) == 1 && bindings[0].Draws != "": // a pair alone can be judged
		return nil, bindings[0].Errorf("%s", bindings[0].Draws)
	case several != nil:
		for _, b := range bindings { // of the other pass
			several.Names = append(several.Names, b.Function.Name)
		}
		return nil, several
	case misfit != nil:
		bindings[0].Notes = append(bindings[0].Notes, NoBackward+misfit.Error())
	}
	return bindings, nil
}

// NoBackward begins the note on a file whose backward is left out.
const NoBackward = "its backward is not judged: "

// bindFirst matches the functions of the first rank in which one fits; the error is that of the first.
func bindFirst(file *cfacts.File, ranks [][]cfacts.Function, spec *op.Spec, pass op.Pass,
	options binding.Options,
) (fit *binding.Binding, first error) {
	for _, list := range ranks {
		b, err := bindOne(file, list, spec, pass, options)
		if several := (*SeveralError)(nil); err == nil || errors.As(err, &several) {
			return b, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// eligible lists the functions that may be the one of a pass, rank by rank: those that are named, else host
// functions that C can call, else host functions that launch, else kernels.
func eligible(f *cfacts.File, r binding.Request, pass op.Pass) [][]cfacts.Function {
	if said := declared.Saying(f, r, pass); len(said) > 0 {
		return [][]cfacts.Function{said}
	}
	list := fitting(f, r, pass, match.IsHelper)
	if len(list) == 0 { // set_rotary launches what is to be judged, where nothing else does
		list = fitting(f, r, pass, func(name string) bool {
			return match.MakesTensors(name) || !match.LaunchesTriton(f, name)
		})
	}
	switch {
	case len(list) == 0:
		return nil
	case r.Function != "":
		return [][]cfacts.Function{list}
	}
	// After @backward a function whose name says so goes before others.
	saysOther := func(fn cfacts.Function) bool {
		return match.IsBackward(fn.Name+" "+fn.BoundName) != (pass == op.Backward)
	}
	if says := slices.DeleteFunc(slices.Clone(list), saysOther); len(says) > 0 {
		list = says
	}
	if list[0].Kind == cfacts.Python {
		others, helpers := apart(f, r, list)
		return append(pythonRanks(others), pythonRanks(helpers)...)
	}
	if pass == op.Forward && r.Pass == op.PassUnknown {
		list = slices.DeleteFunc(slices.Clone(list),
			func(fn cfacts.Function) bool { return match.IsOfABackward(f, fn) })
	}
	var ranks [][]cfacts.Function
	for _, rank := range []func(cfacts.Function) bool{
		func(fn cfacts.Function) bool { return fn.BoundName != "" },
		func(fn cfacts.Function) bool { return fn.Kind == cfacts.Host && fn.ExternC && fn.Name == "solve" },
		func(fn cfacts.Function) bool { return fn.Kind == cfacts.Host && fn.ExternC },
		func(fn cfacts.Function) bool { return fn.Kind == cfacts.Host && fn.Launches },
		func(fn cfacts.Function) bool { return fn.Kind == cfacts.Kernel },
		func(fn cfacts.Function) bool { return fn.Kind == cfacts.Host && fn.CallsLibrary },
	} {
		lower := func(fn cfacts.Function) bool { return !rank(fn) }
		best := slices.DeleteFunc(slices.Clone(list), lower)
		if len(best) > 0 {
			ranks = append(ranks, best)
		}
		// beside a launcher that neither C nor Python calls its kernels may be meant
		if len(best) > 0 && (best[0].Kind != cfacts.Host || best[0].ExternC || best[0].BoundName != "") {
			break
		}
	}
	return ranks
}

// apart splits functions into helpers and others. A helper lacks the operator's word in its name, and one
// with it calls the helper.
func apart(f *cfacts.File, r binding.Request, list []cfacts.Function) (others, helpers []cfacts.Function) {
	named := func(fn cfacts.Function) bool {
		return strings.Contains(lettersOf(match.Snake(fn.Name)), lettersOf(match.Snake(r.Operator)))
	}
	var names []string
	for _, fn := range binding.Those(list, named) {
		names = append(names, fn.Name)
	}
	called := reached(f, names)
	helps := func(fn cfacts.Function) bool { return !named(fn) && called[cfacts.LastName(fn.Name)] }
	return slices.DeleteFunc(slices.Clone(list), helps), binding.Those(list, helps)
}

// fitting returns the functions of a pass that take a tensor, except those whose names are of helpers.
func fitting(f *cfacts.File, r binding.Request, pass op.Pass,
	beside func(name string) bool,
) (list []cfacts.Function) {
	for _, fn := range f.Functions {
		if _, there := declared.Line(&fn, r.Operator, pass); len(fn.Declared) > 0 && !there {
			continue // its lines say another operator, or the other pass
		}
		fits := r.Pass == pass || match.IsBackward(fn.Name+" "+fn.BoundName) == (pass == op.Backward)
		if r.Function != "" && declared.Names(r, fn) && fits ||
			r.Function == "" && fits && !beside(fn.Name) && !fn.Launcher && !match.GivesGrid(fn) &&
				!match.WantsWords(&fn) && (fn.Parsed().StandsFor == "" || bearsName(r, fn)) &&
				slices.ContainsFunc(fn.Params, func(p cfacts.Param) bool { return p.Pointer || p.Untyped }) {
			list = append(list, fn)
		}
	}
	return list
}

// mostCandidates limits the functions that are matched and compared with each other.
const mostCandidates = 256

// bindOne matches the functions of a pass; of several, only one may fit.
func bindOne(file *cfacts.File, list []cfacts.Function, spec *op.Spec, pass op.Pass,
	options binding.Options,
) (*binding.Binding, error) {
	if len(list) > mostCandidates {
		return nil, &op.UsageError{Message: fmt.Sprintf("%d functions could be %s %v: say which with --add "+
			"FILE:NAME", len(list), spec.Name, pass)}
	}
	var fit []*binding.Binding
	var first error
	_, said := declared.Line(&list[0], spec.Name, pass)
	for _, fn := range list {
		options, err := declared.StatedBy(options, fn, spec, pass)
		var b *binding.Binding
		if err == nil {
			b, err = params.Match(file, fn, spec, pass, options)
		}
		if err == nil {
			fit = append(fit, b)
		} else if first == nil {
			first = err
		}
	}
	switch {
	case said && len(list) > 1: // each is judged, and refused, for itself
		return nil, &SeveralError{Names: cfacts.Names(list), Message: "several functions have a line"}
	case !said:
		fit = withoutReferences(oneOfEachName(namedAlike(fit, spec)))
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(list) == 1 && len(fit) == 0:
		return nil, first
	}
	var words strings.Builder
	for _, fn := range list {
		fmt.Fprintf(&words, "\n  line %d: %s", fn.Line, fn.Text)
	}
	if len(fit) > 0 {
		return nil, &SeveralError{
			Names: binding.EachOf(fit, func(b *binding.Binding) string { return b.Function.Name }),
			Message: fmt.Sprintf("several functions could be %s %v: say which with --add FILE:NAME%s",
				spec.Name, pass, words.String()),
		}
	}
	message := fmt.Sprintf("none of these functions can be matched to %s %v: say which with --add "+
		"FILE:NAME%s", spec.Name, pass, words.String())
	if list[0].Kind == cfacts.Kernel {
		message += "\n  Several kernels that work together need a host function that launches them: " +
			"extern \"C\" void solve(...)"
	}
	_, line, _ := strings.Cut(first.Error(), list[0].Text)
	return nil, &op.UsageError{Message: message + "\n  line " + strconv.Itoa(list[0].Line) + ":" + line}
}

// referenceWords lists words in the names of functions that others of a file are compared with.
var referenceWords = []string{"reference", "ref", "golden", "baseline", "cpu", "numpy"}

// withoutReferences leaves out the references that other functions are compared with, if there are others.
func withoutReferences(fit []*binding.Binding) []*binding.Binding {
	refers := func(b *binding.Binding) bool {
		return slices.ContainsFunc(strings.Split(match.Snake(b.Function.Name), "_"),
			func(word string) bool { return slices.Contains(referenceWords, word) })
	}
	left := slices.DeleteFunc(slices.Clone(fit), refers)
	if len(left) == 0 || len(left) == len(fit) {
		return fit
	}
	for _, b := range fit {
		if refers(b) {
			left[0].Notes = append(left[0].Notes, fmt.Sprintf("not judged, since its name says that it is "+
				"what others are compared with: %s (--add FILE:NAME judges it)", b.Function.Name))
		}
	}
	return left
}

// refersAlone refuses a function that is called a reference, whatever it computes, unless the user names it.
func refersAlone(b *binding.Binding, r binding.Request) error {
	if b == nil || r.Function != "" || len(b.Function.Declared) > 0 ||
		!slices.Contains([]string{"reference", "ref", "golden"}, strings.ToLower(b.Function.Name)) {
		return nil
	}
	return b.Errorf("by its name it is a reference, which others are compared with: --add FILE:%s judges it",
		b.Function.Name)
}

// oneOfEachName keeps one of several functions of one name, which no request can distinguish: the first of
// overloads in C++, and in Python the last definition, which replaces the others.
func oneOfEachName(fit []*binding.Binding) (left []*binding.Binding) {
	for _, b := range fit {
		same := slices.IndexFunc(left,
			func(o *binding.Binding) bool { return o.Function.Name == b.Function.Name })
		if same < 0 {
			left = append(left, b)
			continue
		}
		if o := left[same]; b.Function.Kind == cfacts.Python && b.Function.Line > o.Function.Line {
			left[same], b = b, o
		}
		left[same].Notes = append(left[same].Notes, fmt.Sprintf(
			"not judged: %s of line %d, which has the same name", b.Function.Name, b.Function.Line))
	}
	return left
}

// otherWords lists words that, added to an operator's name, make it another operator.
var otherWords = []string{
	"and", "with", "then", "plus", "log", "masked", "mask", "causal", "scaled", "add", "bias", "residual",
	"gumbel", "sparse", "quantized",
}

// namedAlike keeps, of several functions, those whose names hold the operator's and no word that makes
// another of it, if one has just the operator's name: of softmax, log_softmax and softmax_v2 the first and
// the last.
func namedAlike(fit []*binding.Binding, spec *op.Spec) []*binding.Binding {
	plain := func(name string) string { return strings.ReplaceAll(match.Snake(name), "_", "") }
	other := func(b *binding.Binding) bool {
		name := match.Snake(b.Function.Name)
		if b.Function.BoundName != "" && strings.Contains(plain(b.Function.BoundName), plain(spec.Name)) {
			name = match.Snake(b.Function.BoundName)
		}
		before, after, found := strings.Cut(name, spec.Name)
		if !found {
			return !strings.Contains(plain(name), plain(spec.Name))
		}
		return slices.ContainsFunc(strings.Split(before+"_"+after, "_"), func(word string) bool {
			return slices.Contains(otherWords, word)
		})
	}
	same := func(b *binding.Binding) bool { return plain(b.Function.Name) == plain(spec.Name) }
	if !slices.ContainsFunc(fit, same) {
		return withoutSiblings(withoutOthers(fit, spec), spec)
	}
	return leaveOut(fit, other)
}

// withoutSiblings leaves out functions with another operator's name if the name of another function differs
// in this word alone and has the operator's: vector_mul next to vector_add.
func withoutSiblings(fit []*binding.Binding, spec *op.Spec) []*binding.Binding {
	names := func(b *binding.Binding) []string { return strings.Split(match.Snake(b.Function.Name), "_") }
	sibling := func(b, other *binding.Binding) bool {
		mine, others := names(b), names(other)
		at := slices.Index(others, spec.Name)
		return at >= 0 && len(mine) == len(others) && len(mine) > 1 && !slices.Contains(mine, spec.Name) &&
			slices.Equal(slices.Delete(slices.Clone(mine), at, at+1), slices.Delete(others, at, at+1))
	}
	return leaveOut(fit, func(b *binding.Binding) bool {
		return slices.ContainsFunc(fit, func(other *binding.Binding) bool { return sibling(b, other) })
	})
}

// noFunction explains that a file has no function to judge.
func noFunction(f *cfacts.File, r binding.Request, passes []op.Pass) error {
	have := cfacts.Names(f.Functions)
	message := "it has no function to judge"
	if len(passes) == 1 && passes[0] == op.Backward && r.Function == "" && len(have) > 0 {
		return &op.UsageError{Message: "it has no backward: triad takes a function for one whose name " +
			"holds backward, bwd or grad, or that is named, as in --add FILE:NAME@backward"}
	}
	if r.IsPython() {
		message += ": want a function at the top of the file that takes tensors, as in def solve(x)"
	}
	switch others := ofOthers(f, r, nil); {
	case f.Python.Syntax != "":
		message = "Python cannot parse it: " + f.Python.Syntax
	case others != "":
		message += fmt.Sprintf(" as %s; %s%s", r.Operator, declared.NotTaken, others)
	case r.Function != "" && slices.Contains(have, r.Function):
		message = fmt.Sprintf("%s is not taken for a %v by its name: add @forward or @backward after it",
			r.Function, passes)
	case r.Function != "":
		message = fmt.Sprintf("it has no function %s", r.Function)
		if len(have) > 0 {
			message += ": it has " + strings.Join(have, ", ")
		}
	case f.Main:
		message = "it has a main() of its own and no function that triad can call: give it one that takes " +
			"device pointers and launches the kernel, as in\n" +
			"  extern \"C\" void solve(const float *input, float *output, int rows, int cols)"
	case !r.IsPython():
		message += ": triad looks for extern \"C\" void solve(const float *input, float *output, ...) or " +
			"for a single __global__ function"
	}
	return &op.UsageError{Message: message}
}

// KernelsAlone returns the names of a file's Triton kernels if it has no function that could launch one.
func KernelsAlone(f *cfacts.File) (names []string) {
	for _, fn := range f.Functions {
		if fn.Form != binding.KernelForm {
			return nil
		}
		names = append(names, fn.Name)
	}
	return names
}

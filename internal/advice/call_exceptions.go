package advice

import (
	"fmt"
	"regexp"
	"strings"

	"triad/internal/backend"
	"triad/internal/harmless"
	"triad/internal/op"
)

// ofCalls lists Python exceptions about a function's arguments: about sizes, the number of sizes, indices. A
// missing name and a call with too many arguments are errors of the lines, whatever the call.
const ofCalls = `Runtime|Value|Index|Key|ZeroDivision|Overflow|NotImplemented|Einops`

var (
	aboutTheCall = regexp.MustCompile(`^(?:[\w.]+\.)?(?:` + ofCalls + `)Error: `)
	// ofInterpretations matches these and the exceptions for a number in place of a tensor, or a tensor in
	// place of a number.
	ofInterpretations = regexp.MustCompile(`^(?:[\w.]+\.)?(?:` + ofCalls + `|Type|Attribute)Error: `)
	// ofReturned matches messages about returned values. ofGradients matches torch's message about a backward
	// whose gradients differ in number or kind from the inputs of its forward, whatever its arguments.
	ofReturned  = regexp.MustCompile(` returned (?:nothing: |values, want )|, want a torch\.Tensor`)
	ofGradients = regexp.MustCompile(`returned (?:a gradient different than None at position|` +
		`an incorrect number of gradients|an invalid gradient at index)`)
	// notRegistered matches torch's message about operators of an extension that is not loaded.
	notRegistered = regexp.MustCompile(
		`^AttributeError: '_OpNamespace' '(\w+)' object has no attribute '(\w+)'`)
	// unfitForCutile matches what cuda.tile raises at a launch without its compiler, or with an older driver.
	unfitForCutile = regexp.MustCompile(`^FileNotFoundError: 'tileiras' compiler not found|` +
		`^RuntimeError: Minimum driver version required is `)
	// newWord matches a call of a library function with a parameter that the installed version lacks.
	newWord = regexp.MustCompile(
		`^TypeError: (?:[\w.]+\.)?(\w+)\(\) got an unexpected keyword argument '(\w+)'`)
)

// AboutTheCall reports whether a Python exception is about a function's arguments: another call might not
// have raised it.
func AboutTheCall(sentence string) bool {
	return aboutTheCall.MatchString(sentence) && !ofReturned.MatchString(sentence) &&
		!OfGradients(sentence)
}

// OfInterpretation reports whether a Python exception may result from how a function was read: with other
// parameters it might not have been raised. A function that returned nothing would do so again.
func OfInterpretation(sentence string) bool {
	return ofInterpretations.MatchString(sentence) && !strings.Contains(sentence, " returned nothing: ") &&
		!OfGradients(sentence)
}

// OfGradients reports whether an exception is torch's about a backward whose gradients do not match the
// inputs of its forward.
func OfGradients(sentence string) bool { return ofGradients.MatchString(sentence) }

// ExplainRaised makes a Python exception about a function's arguments UNSUPPORTED: nobody is given a wrong
// number. As for every function that declines, the run tests whether it raises only for the data.
func ExplainRaised(o *backend.Outcome) {
	if o.Status == op.StatusCrash && !o.Ended && AboutTheCall(o.Sentence) {
		o.Status, o.Sentence = op.StatusUnsupported, "it raises in this call: "+ofItself(o.Sentence)
	}
}

// explainAbsent makes an exception neutral that reports something missing here: operators of an extension,
// what cuTile needs, and parameters of Triton and torch functions that another version has. text is the
// file's text.
func explainAbsent(o *backend.Outcome, text string) bool {
	if unfitForCutile.MatchString(o.Sentence) {
		o.Status, o.Sentence = op.StatusUnavailable, "cuTile needs its compiler, which triad setup --cutile "+
			"installs, and NVIDIA's driver 580 or newer ("+harmless.FirstLine(o.Sentence)+")"
		return true
	}
	if m := notRegistered.FindStringSubmatch(o.Sentence); m != nil {
		o.Status, o.Sentence = op.StatusUnavailable, fmt.Sprintf("it calls torch.ops.%s.%s of an extension "+
			"that nothing here has loaded: judge the .cu that holds it, with --add, or load it in this file",
			m[1], m[2])
		return true
	}
	m := newWord.FindStringSubmatch(o.Sentence)
	if m == nil || regexp.MustCompile(`\bdef `+m[1]+`\(`).MatchString(text) {
		return false
	}
	calls := regexp.MustCompile(`\b(?:tl|triton|torch|F)\.(?:\w+\.)*` + m[1] + `\(`)
	if !calls.MatchString(text) {
		return false
	}
	o.Status = op.StatusUnsupported
	o.Sentence = fmt.Sprintf("%s of the version that is here has no parameter %s: triad doctor names the "+
		"versions", strings.TrimSuffix(calls.FindString(text), "("), m[2])
	return true
}

package kernelfile

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// plainNumber matches a number without its type suffix.
var plainNumber = regexp.MustCompile(`^(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[fFuUlL]*$`)

// takePreset passes the default of a numeric parameter. Any other default stays, as the call leaves the
// argument out.
func (a *Argument) takePreset() bool {
	word := strings.ReplaceAll(a.preset, " ", "")
	if m := plainNumber.FindStringSubmatch(word); m != nil && (a.isInteger() || a.isFloat()) {
		a.number = m[1]
	} else if a.isBool() && (word == "true" || word == "false") {
		a.number = strconv.FormatInt(truth(word == "true"), 10)
	} else {
		a.Optional = a.preset != ""
		return a.Optional
	}
	a.Role, a.Target, a.told = Constant, a.number+asPreset, true
	return true
}

// asPreset ends the meaning of a parameter that gets its default.
const asPreset = ", as the file presets it"

// dropped reports whether a parameter can only get its default by leaving the argument out.
func (a Argument) dropped() bool { return a.Role == Nothing && a.preset != "" && !a.tensor }

// passed returns the arguments that a call has: those at the end that keep their defaults may be left out.
func passed(args []Argument) []Argument {
	needed := func(a Argument) bool { return !a.dropped() && !strings.HasSuffix(a.Target, asPreset) }
	if first := slices.IndexFunc(args, Argument.dropped); first >= 0 &&
		!slices.ContainsFunc(args[first:], needed) {
		return args[:first]
	}
	return args
}

// checkPassed refuses a function if its call cannot leave out what it must.
func (b *Binding) checkPassed() error {
	args := passed(b.Args)
	if i := slices.IndexFunc(args, Argument.dropped); i >= 0 {
		return b.errorf("what %s stands for is not clear, and C++ cannot leave it out: arguments follow "+
			"that are needed", args[i].Name)
	}
	return nil
}

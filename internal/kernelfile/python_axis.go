package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// axisName matches common names of an axis, and alongAxis lists what takes one.
var (
	axisName  = regexp.MustCompile(`(?i)^(?:dim|axis)$`)
	alongAxis = strings.Fields("shape size stride sum max amax mean softmax log_softmax cumsum argmax " +
		"flip transpose")
)

// namesAxis reports whether a parameter of a Python function selects the axis that it works along: it has
// such a name, and the lines pass it on as an axis, "x.sum(dim=dim)", "x.shape[axis]".
func (b *Binding) namesAxis(p cfacts.Param) bool {
	return b.Function.Kind == cfacts.Python && b.Function.Form != kernelForm && p.Place == cfacts.InCall &&
		(p.IsInteger() || p.Untyped) && b.Options.Map[p.Name] == "" && axisName.MatchString(p.Name) &&
		slices.ContainsFunc(b.Function.FactsOf(p.Name).Handed, func(h pyfacts.Handed) bool {
			return axisName.MatchString(h.Name) ||
				slices.Contains(alongAxis, h.Call[strings.LastIndex(h.Call, ".")+1:])
		})
}

// takePassed passes the 0 or the switch that every call in its file passes for a parameter of a function.
func (b *Binding) takePassed(a *Argument) bool {
	passed := b.Function.FactsOf(a.Name).Passed
	if passed == "" || a.Pointer || a.Place != cfacts.InCall {
		return false
	}
	a.Role, a.Target, a.number, a.stated = Constant, passed+", as its file calls it", passed, true
	return true
}

// takeAxis passes the last size as the axis that a function works along, unless the file gives a default.
func (b *Binding) takeAxis(a *Argument) bool {
	if a.Optional || !b.namesAxis(a.Param) {
		return false
	}
	a.Role, a.Target, a.number, a.stated = Constant, "-1, the last size", "-1", true
	return true
}

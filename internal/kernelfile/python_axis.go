package kernelfile

import "regexp"

// namesAxis reports whether a parameter of a Python function selects the axis that it works along: it has
// such a name, and the lines pass it on as an axis, "x.sum(dim=dim)", "x.shape[axis]".
func (b *Binding) namesAxis(p Param) bool {
	if b.Function.Kind != Python || b.Function.form == kernelForm || p.place != inCall ||
		!p.isInteger() && !p.Untyped || b.Options.Map[p.Name] != "" || !axisName.MatchString(p.Name) {
		return false
	}
	name := regexp.QuoteMeta(p.Name)
	handed := regexp.MustCompile(`\b(?:dim|axis)\s*=\s*` + name + `\b|\.shape\[\s*` + name + `\s*\]|` +
		`\.(?:size|stride|sum|max|amax|mean|softmax|log_softmax|cumsum|argmax|flip|transpose)\(\s*` +
		`(?:\w+\s*,\s*)?` + name + `\b`)
	return handed.MatchString(b.Function.text)
}

// axisName matches common names of an axis.
var axisName = regexp.MustCompile(`(?i)^(?:dim|axis)$`)

// takeAxis passes the last size as the axis that a function works along, unless the file gives a default.
func (b *Binding) takeAxis(a *Argument) bool {
	if a.Optional || !b.namesAxis(a.Param) {
		return false
	}
	a.Role, a.Target, a.number, a.told = Constant, "-1, the last size", "-1", true
	return true
}

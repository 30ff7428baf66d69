package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// asksDepth is how many functions of a file a tensor is followed through.
const asksDepth = 3

var (
	launchEnds  = regexp.MustCompile(`\w\[[^\]\n]*\]$`)
	calledEnds  = regexp.MustCompile(`[\w.]+$`)
	tellsNoSize = regexp.MustCompile(`^\s*\.(?:stride|contiguous|is_contiguous|is_cuda|device|dtype|` +
		`element_size|data_ptr|requires_grad|cuda|to|detach|float|half)\b`)
	isAssigned = regexp.MustCompile(`^\s*=[^=]`)
	endsWord   = regexp.MustCompile(`^\s*[,)]`)
	beginsWord = regexp.MustCompile(`[,(=]\s*$`)
	nextMethod = regexp.MustCompile(`(?m)^[ \t]+def[ \t]+\w+`)
)

// pythonAsks says whether the lines of a function of Python may learn the sizes of a tensor that it takes:
// they ask it, or hand it to something other than the launch of a kernel. Functions of the file that get it
// are looked into.
func (b *Binding) pythonAsks(fn Function, name string, depth int) bool {
	body := askingLines(fn)
	handed := false
	for _, at := range regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).FindAllStringIndex(body, -1) {
		before, after := body[:at[0]], body[at[1]:]
		if strings.HasSuffix(before, ".") || tellsNoSize.MatchString(after) || isAssigned.MatchString(after) {
			continue
		}
		if cutsBounded(after) {
			handed = true
			continue
		}
		head, index := callAround(before)
		whole := endsWord.MatchString(after) && beginsWord.MatchString(before)
		other := slices.IndexFunc(b.others, func(o Function) bool {
			return o.call == head && o.Name != fn.Name && index < len(o.Params)
		})
		switch {
		case !whole:
			return true
		case launchEnds.MatchString(head), strings.HasSuffix(head, "save_for_backward"):
		case other >= 0 && depth > 0 &&
			!b.pythonAsks(b.others[other], b.others[other].Params[index].Name, depth-1):
		default:
			return true
		}
		handed = true
	}
	return !handed
}

// cutsBounded says whether a tensor is cut by sizes from elsewhere: "k[b, h, start:end]", where no part
// reaches to an end that is the tensor's own.
func cutsBounded(after string) bool {
	if !strings.HasPrefix(after, "[") {
		return false
	}
	end, depth := 0, 0
	for end = range len(after) {
		sign := after[end : end+1]
		if depth += strings.Count("[(", sign) - strings.Count(")]", sign); depth == 0 {
			break
		}
	}
	parts := argumentList(after[1:end] + ")")
	open := func(part string) bool {
		part = strings.TrimSpace(part)
		_, end, slice := strings.Cut(part, ":")
		end, _, _ = strings.Cut(end, ":")
		return part == "" || part == "..." || slice && (strings.TrimSpace(end) == "" ||
			strings.HasPrefix(strings.TrimSpace(end), "-"))
	}
	cut := func(part string) bool { return strings.Contains(part, ":") } // k[b, h] is whole
	return slices.ContainsFunc(parts, cut) && !slices.ContainsFunc(parts, open)
}

// askingLines are the lines in which a function may ask a tensor for its sizes: what follows its parameters,
// of an autograd function those of its forward.
func askingLines(fn Function) string {
	text := docstring.ReplaceAllString(pythonComment.ReplaceAllString(fn.text, ""), "")
	if fn.form == appliedTo {
		_, text, _ = strings.Cut(text, "def forward")
		if end := nextMethod.FindStringIndex(text); end != nil {
			text = text[:end[0]]
		}
	}
	_, text, _ = strings.Cut(text, "(")
	return text[min(len(text), len(strings.Join(argumentList(text), ","))):]
}

// callAround is what is called by the innermost call that is open at the end of a text, and the index of the
// argument that stands there; "" where none is open.
func callAround(before string) (head string, index int) {
	depth := 0
	for i := len(before) - 1; i >= 0; i-- {
		switch c := before[i]; {
		case strings.IndexByte(")]}", c) >= 0:
			depth++
		case strings.IndexByte("([{", c) >= 0 && depth > 0:
			depth--
		case c == '(':
			if launch := launchEnds.FindString(before[:i]); launch != "" {
				return launch, index
			}
			return calledEnds.FindString(before[:i]), index
		case c == '[' || c == '{':
			return "", 0
		case c == ',' && depth == 0:
			index++
		}
	}
	return "", 0
}

// pythonKernel is a kernel of Triton that a file defines.
type pythonKernel struct {
	text             string // without comments
	launched, called *regexp.Regexp
}

// kernelsIn are the kernels of a file.
func kernelsIn(text string) []pythonKernel {
	var all []pythonKernel
	for _, at := range definition.FindAllStringSubmatchIndex(text, -1) {
		if decoratedKernel(text[:at[0]]) {
			name := text[at[2]:at[3]]
			all = append(all, pythonKernel{
				pythonComment.ReplaceAllString(pythonBlock(text, at[0]), ""),
				regexp.MustCompile(`\b` + name + `\[`), regexp.MustCompile(`\b` + name + `\(`),
			})
		}
	}
	return all
}

// kernelsLaunched are the texts of the kernels that the lines of a function launch, and of those that these
// call.
func kernelsLaunched(lines string, kernels []pythonKernel) string {
	var all strings.Builder
	taken := make([]bool, len(kernels))
	for first := true; ; first = false {
		found := ""
		for i, k := range kernels {
			used := k.called
			if first {
				used = k.launched
			}
			if !taken[i] && used.MatchString(lines) {
				taken[i] = true
				found += k.text
			}
		}
		if found == "" {
			return all.String()
		}
		all.WriteString(found)
		lines = found
	}
}

// maskedAlways says whether the kernels that a function launches have no parameter for a switch and make what
// is called like it of a comparison: "causal = rows >= cols".
func (fn *Function) maskedAlways(name string) bool {
	if fn.kernels == "" {
		return false
	}
	word := regexp.QuoteMeta(name)
	made := regexp.MustCompile(`(?mi)^[ \t]*\w*` + word + `\w*[ \t]*=[^=\n]*[^<>=\n][<>]=?[^<>]`)
	chosen := regexp.MustCompile(`(?i)\b(?:if|not|non|no)[ _(]+\w*` + word)
	for _, at := range definition.FindAllStringIndex(fn.kernels, -1) {
		for _, p := range argumentList(fn.kernels[at[1]:]) {
			if strings.Contains(strings.ToLower(p), name) {
				return false
			}
		}
	}
	return made.MatchString(fn.kernels) && !chosen.MatchString(fn.kernels)
}

var (
	everySecond = regexp.MustCompile(`\[[^\]\n]*\b[01]?[ \t]*::[ \t]*2[ \t]*\]`) // x[..., 1::2]
	doubled     = regexp.MustCompile(`\*[ \t]*2\b|\b2[ \t]*\*`)
	oneBehind   = regexp.MustCompile(`\+[ \t]*1\b`) // 2 * i + 1, or + 1 behind what is doubled above it
)

// showsPairs says whether a reading is that with the switch of elements that lie beside each other, which the
// lines of a function of Python or of its kernels take in pairs.
func (b *Binding) showsPairs(other Alternative) bool {
	name := b.Spec.Own.Pairs
	lines := askingLines(b.Function) + b.Function.kernels
	return name != "" && other.Attribute == name && other.Options.Attrs[name] == "true" &&
		b.Function.Kind == Python && (everySecond.MatchString(lines) ||
		doubled.MatchString(b.Function.kernels) && oneBehind.MatchString(b.Function.kernels))
}

// checkTables refuses a function of Python that takes a table's function of its table: what is called cos is
// the angle where its lines have torch.cos(cos).
func (b *Binding) checkTables() error {
	for _, a := range b.Args {
		if b.Function.Kind != Python || a.Role != Input || !slices.Contains(b.Spec.Own.Wide, a.Target) {
			continue
		}
		again := regexp.MustCompile(`\.` + a.Target + `\(\s*` + regexp.QuoteMeta(a.Name) + `\s*\)`)
		if again.MatchString(askingLines(b.Function)) {
			return b.errorf("%[1]s is no table of %[2]s: its lines take the %[2]s of it, so it wants the "+
				"angles. Write a function that takes %[3]s, and judge that: --add FILE:FUNCTION", a.Name,
				a.Target, tensorNames(b.inputs))
		}
	}
	return nil
}

package opfolder

import (
	"regexp"
	"slices"
	"strings"
)

// block is a statement at the top of a Python file, with the comments and decorators above it.
type block struct {
	text    string
	defines []string // the names that it binds
	imports string   // "from implementation" or "import"; "" if it is no import
}

var (
	definedName  = regexp.MustCompile(`(?m)^(?:def|class)\s+(\w+)|^([A-Za-z_][\w, ]*?)\s*(?::[^=\n]+)?=[^=]`)
	importLine   = regexp.MustCompile(`(?s)^(?:(from\s+[\w.]+)\s+)?import\s+\(?(.*?)\)?\s*$`)
	pythonWord   = regexp.MustCompile(`[A-Za-z_]\w*`)
	pythonString = regexp.MustCompile(`(?s)""".*?"""|"[^"\n]*"`)
	eagerRow     = regexp.MustCompile(`(?m)^ {4}(?:Implementation|differentiable_row)\("torch/eager",`)
)

// torchPart returns the part of an operator's Python file that needs torch alone: the reference and what it
// uses, and the row of torch. ok is false where the reference needs more.
func torchPart(text string) (part string, ok bool) {
	blocks := blocksOf(text)
	kept := make([]bool, len(blocks))
	row := eagerRowOf(blocks)
	queue := []string{"reference", "reference_backward"}
	rest := keep(blocks, kept, queue)
	if rest || !slices.Contains(kept, true) {
		return "", false
	}
	if row != "" {
		with := slices.Clone(kept)
		if keep(blocks, with, wordsOf(row)) {
			row = ""
		} else {
			kept = with
		}
	}
	used := wordsOf(row)
	for i, b := range blocks {
		if kept[i] {
			used = append(used, wordsOf(b.text)...)
		}
	}
	var out strings.Builder
	for i, b := range blocks {
		switch {
		case b.imports != "":
			out.WriteString(importOf(b, used))
		case kept[i]:
			out.WriteString("\n\n" + b.text)
		}
	}
	if row != "" {
		out.WriteString("\n\nIMPLEMENTATIONS = [\n" + row + "]\n")
	}
	return out.String(), true
}

// keep marks the blocks that define these names, and those that they use. It reports whether one of them is
// for Triton.
func keep(blocks []block, kept []bool, names []string) (forTriton bool) {
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		for i, b := range blocks {
			if kept[i] || b.imports != "" || !slices.Contains(b.defines, name) {
				continue
			}
			kept[i] = true
			forTriton = forTriton || strings.Contains(b.text, "triton.") ||
				strings.Contains(b.text, "INTERPRETED")
			names = append(names, wordsOf(b.text)...)
		}
	}
	return forTriton
}

// wordsOf returns the names in a Python text, without its strings.
func wordsOf(text string) []string {
	return pythonWord.FindAllString(pythonString.ReplaceAllString(text, `""`), -1)
}

// blocksOf splits a Python file, without its docstring.
func blocksOf(text string) []block {
	text = strings.TrimPrefix(text, pythonString.FindString(text))
	var all []block
	var lines []string
	begun := false // the statement itself
	end := func() {
		if joined := strings.TrimSpace(strings.Join(lines, "")); joined != "" {
			all = append(all, blockOf(joined+"\n"))
		}
		lines, begun = nil, false
	}
	for line := range strings.Lines(text) {
		top := line[0] != ' ' && line[0] != '\n' && !strings.ContainsAny(line[:1], ")]}\"")
		if top && begun {
			end()
		}
		begun = begun || top && line[0] != '#' && line[0] != '@'
		if !strings.HasPrefix(line, "# ---- ") { // a heading of the parts that are left out
			lines = append(lines, line)
		}
	}
	end()
	return all
}

func blockOf(text string) block {
	b := block{text: text}
	if m := importLine.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
		b.imports = m[1] + " import"
		for name := range strings.SplitSeq(m[2], ",") {
			if name = strings.TrimSpace(name); name != "" {
				b.defines = append(b.defines, name)
			}
		}
		return b
	}
	for _, m := range definedName.FindAllStringSubmatch(text, 1) {
		b.defines = append(b.defines, wordsOf(m[1]+" "+m[2])...)
	}
	return b
}

// importOf returns an import without the names that nothing uses; "" if none is left.
func importOf(b block, used []string) string {
	var names []string
	for _, name := range b.defines {
		bound := pythonWord.FindAllString(name, -1)
		if slices.Contains(used, bound[len(bound)-1]) || slices.Contains(used, bound[0]) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return strings.TrimSpace(b.imports) + " " + strings.Join(names, ", ") + "\n"
}

// eagerRowOf returns the row of torch's own operations among the implementations; "" if none is written out.
func eagerRowOf(blocks []block) string {
	for _, b := range blocks {
		if !slices.Contains(b.defines, "IMPLEMENTATIONS") {
			continue
		}
		at := eagerRow.FindStringIndex(b.text)
		if at == nil {
			return ""
		}
		depth := 0
		for i, c := range b.text[at[0]:] {
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				if depth--; depth == 0 {
					return b.text[at[0]:at[0]+i+1] + ",\n"
				}
			}
		}
	}
	return ""
}

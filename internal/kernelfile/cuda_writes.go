package kernelfile

import (
	"slices"
	"strings"
)

// markWritten notes for every function how its own lines write its parameters, or pass them to a kernel that
// does. Writes in unrecognised ways stay unmarked.
func (f *File) markWritten() {
	for i := range f.Functions {
		fn := &f.Functions[i]
		for k := range fn.Params {
			if fn.Params[k].Pointer {
				fn.Params[k].writing = writes(fn.body, fn.Params[k].Name)
			}
		}
	}
	for i := range f.Functions {
		if fn := &f.Functions[i]; fn.Kind == Host {
			f.markHanded(fn)
		}
	}
}

// markHanded notes the parameters that a host function passes to kernels that write them.
func (f *File) markHanded(fn *Function) {
	for i := range fn.body {
		if fn.body[i].text != "<<<" {
			continue
		}
		name := launched(fn.body, i)
		kernel := slices.IndexFunc(f.Functions,
			func(k Function) bool { return k.Kind == Kernel && k.Name == name })
		end := configurationEnd(fn.body, i)
		if kernel < 0 || end+1 >= len(fn.body) {
			continue
		}
		for at, argument := range split(inside(fn.body, end+1)) {
			if at >= len(f.Functions[kernel].Params) {
				continue
			}
			for k := range fn.Params {
				if slices.ContainsFunc(argument, func(t token) bool { return t.text == fn.Params[k].Name }) {
					fn.Params[k].writing = fn.Params[k].with(f.Functions[kernel].Params[at].writing)
				}
			}
		}
	}
}

// closing returns the index of the bracket that closes the one at i, or the last index.
func closing(tokens []token, i int) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch {
		case strings.Contains("([{", tokens[i].text):
			depth++
		case strings.Contains(")]}", tokens[i].text):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return max(len(tokens)-1, 0)
}

// inside returns the tokens between a bracket and the one that closes it; none if the file ends before.
func inside(tokens []token, open int) []token {
	end := closing(tokens, open)
	if open >= len(tokens) || end <= open {
		return nil
	}
	return tokens[open+1 : end]
}

// writing holds the ways in which a body writes through a pointer: plain stores, additions to the old value,
// and atomic additions; reread says that the value written is computed from the old one.
type writing struct{ plain, added, atomic, reread bool }

// Accumulates reports whether what is pointed to is added to by atomics and written in no other way.
func (w writing) Accumulates() bool { return w.atomic && !w.plain }

func (w writing) any() bool { return w.plain || w.added || w.atomic }

func (w writing) with(o writing) writing {
	return writing{w.plain || o.plain, w.added || o.added, w.atomic || o.atomic, w.reread || o.reread}
}

// castedEnd returns the index behind an element of a wider type that is read at the address of a pointer's
// element at i; 0 if there is none.
func castedEnd(body []token, i int) int {
	if i < 3 || body[i-1].text != "&" || body[i-2].text != "(" || body[i-3].text != ">" {
		return 0
	}
	end := closing(body, i-2) + 1
	if end >= len(body) || body[end].text != "[" {
		return 0
	}
	if end = closing(body, end) + 1; end >= len(body) {
		return 0
	}
	return end
}

// castAlias returns the pointer that is made from the one at i by a cast: "float4 *v =
// reinterpret_cast<float4 *>(x + row)", "float4 *v = (float4 *)x"; "" if there is none.
func castAlias(body []token, i int) string {
	at := i - 1
	if at > 0 && body[at].text == "&" {
		at--
	}
	if at < 5 {
		return ""
	}
	open := "<"
	switch {
	case body[at].text == "(" && body[at-1].text == ">":
		at -= 2
	case body[at].text == ")" && body[at-1].text == "*":
		at, open = at-1, "("
	default:
		return ""
	}
	for at > 2 && body[at].text != open && body[at].text != ";" {
		at--
	}
	if open == "<" {
		at-- // the word of the cast
	}
	if at < 3 || body[at].text == ";" || body[at-1].text != "=" || !body[at-2].isName() ||
		body[at-3].text != "*" {
		return ""
	}
	return body[at-2].text
}

// writes returns how a body assigns to elements of a pointer, or of a pointer made from it.
func writes(body []token, name string) writing {
	var w writing
	for i := range body {
		if body[i].text != name {
			continue
		}
		end := i + 1
		for end < len(body) && body[end].text == "[" {
			end = closing(body, end) + 1
		}
		if end > i+1 && end+1 < len(body) && body[end].text == "." && len(body[end+1].text) == 1 {
			end += 2 // a part of a vector: y[i].x
		}
		if after := castedEnd(body, i); after > 0 { // reinterpret_cast<float4 *>(&y[i])[0]
			if body[after].text == "=" {
				w.plain = true
			} else {
				w.reread = w.reread || !w.plain
			}
			continue
		}
		switch {
		case end > i+1 && end < len(body) && body[end].text == "=":
			before := w.plain && !w.reread // what is read after that was written here
			w.plain = true
			for k := end; k < len(body) && body[k].text != ";"; k++ {
				w.reread = w.reread || body[k].text == name && !before
			}
		case end > i+1 && end < len(body) && body[end].text == "+=":
			w.added = true
		case end > i+1 && end+1 < len(body) && strings.Contains("-*/", body[end].text) &&
			body[end+1].text == "=":
			w.plain = true
		case i >= 3 && body[i-1].text == "&" && body[i-3].text == "atomicAdd",
			i >= 2 && body[i-1].text == "(" && body[i-2].text == "atomicAdd":
			w.atomic = true
		case end > i+1 && end < len(body) && (i == 0 || body[i-1].text != "&"):
			w.reread = w.reread || !w.plain
		case i >= 3 && body[i-1].text == "=" && body[i-2].isName() && body[i-3].text == "*" &&
			body[i-2].text != name:
			w = w.with(writes(body[i:], body[i-2].text)) // float* row = name + ...
		default:
			if alias := castAlias(body, i); alias != "" && alias != name {
				w = w.with(writes(body[i:], alias))
			}
		}
	}
	return w
}

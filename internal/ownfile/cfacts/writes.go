package cfacts

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
				fn.Params[k].Writing = writes(fn.Body, fn.Params[k].Name)
			}
		}
	}
	for i := range f.Functions {
		if fn := &f.Functions[i]; fn.Kind == Host {
			f.markHanded(fn)
		}
	}
}

// markHanded notes the parameters that a host function passes, or copies, to kernels that write them.
func (f *File) markHanded(fn *Function) {
	copies := deviceCopies(fn.Body)
	for i := range fn.Body {
		if fn.Body[i].Text != "<<<" {
			continue
		}
		name := LaunchedName(fn.Body, i)
		kernel := slices.IndexFunc(f.Functions,
			func(k Function) bool { return k.Kind == Kernel && k.Name == name })
		end := ConfigurationEnd(fn.Body, i)
		if kernel < 0 || end+1 >= len(fn.Body) {
			continue
		}
		for at, argument := range SplitAtCommas(Inside(fn.Body, end+1)) {
			if at >= len(f.Functions[kernel].Params) {
				continue
			}
			for k := range fn.Params {
				name := fn.Params[k].Name
				if slices.ContainsFunc(argument, func(t Token) bool {
					return t.Text == name || copies[t.Text] == name
				}) {
					fn.Params[k].Writing = fn.Params[k].with(f.Functions[kernel].Params[at].Writing)
				}
			}
		}
	}
}

// Closing returns the index of the bracket that closes the one at i, or the last index.
func Closing(tokens []Token, i int) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch {
		case strings.Contains("([{", tokens[i].Text):
			depth++
		case strings.Contains(")]}", tokens[i].Text):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return max(len(tokens)-1, 0)
}

// Inside returns the tokens between a bracket and the one that closes it; none if the file ends before.
func Inside(tokens []Token, open int) []Token {
	end := Closing(tokens, open)
	if open >= len(tokens) || end <= open {
		return nil
	}
	return tokens[open+1 : end]
}

// Writing holds the ways in which a body writes through a pointer: plain stores, additions to the old value,
// and atomic additions; reread says that the value written is computed from the old one.
type Writing struct{ Plain, Added, Atomic, Reread bool }

// Accumulates reports whether what is pointed to is added to by atomics and written in no other way.
func (w Writing) Accumulates() bool { return w.Atomic && !w.Plain }

// Any reports whether anything is written.
func (w Writing) Any() bool { return w.Plain || w.Added || w.Atomic }

func (w Writing) with(o Writing) Writing {
	return Writing{w.Plain || o.Plain, w.Added || o.Added, w.Atomic || o.Atomic, w.Reread || o.Reread}
}

// castedEnd returns the index behind an element of a wider type that is read at the address of a pointer's
// element at i; 0 if there is none.
func castedEnd(body []Token, i int) int {
	if i < 3 || body[i-1].Text != "&" || body[i-2].Text != "(" || body[i-3].Text != ">" {
		return 0
	}
	end := Closing(body, i-2) + 1
	if end >= len(body) || body[end].Text != "[" {
		return 0
	}
	if end = Closing(body, end) + 1; end >= len(body) {
		return 0
	}
	return end
}

// castAlias returns the pointer that is made from the one at i by a cast: "float4 *v =
// reinterpret_cast<float4 *>(x + row)", "float4 *v = (float4 *)x"; "" if there is none.
func castAlias(body []Token, i int) string {
	at := i - 1
	if at > 0 && body[at].Text == "&" {
		at--
	}
	if at < 5 {
		return ""
	}
	open := "<"
	switch {
	case body[at].Text == "(" && body[at-1].Text == ">":
		at -= 2
	case body[at].Text == ")" && body[at-1].Text == "*":
		at, open = at-1, "("
	default:
		return ""
	}
	for at > 2 && body[at].Text != open && body[at].Text != ";" {
		at--
	}
	if open == "<" {
		at-- // the word of the cast
	}
	if at < 3 || body[at].Text == ";" || body[at-1].Text != "=" || !body[at-2].IsName() ||
		body[at-3].Text != "*" {
		return ""
	}
	return body[at-2].Text
}

// writes returns how a body assigns to elements of a pointer, or of a pointer made from it.
func writes(body []Token, name string) Writing {
	var w Writing
	for i := range body {
		if body[i].Text != name {
			continue
		}
		end := i + 1
		for end < len(body) && body[end].Text == "[" {
			end = Closing(body, end) + 1
		}
		if end > i+1 && end+1 < len(body) && body[end].Text == "." && len(body[end+1].Text) == 1 {
			end += 2 // a part of a vector: y[i].x
		}
		if i > 1 && end > i+1 && body[i-1].Text == "(" && body[i-2].IsName() && TextsAt(body, end, ")", "=") {
			end++ // FLOAT4(y[i]) = v
		}
		if after := castedEnd(body, i); after > 0 { // reinterpret_cast<float4 *>(&y[i])[0]
			if body[after].Text == "=" {
				w.Plain = true
			} else {
				w.Reread = w.Reread || !w.Plain
			}
			continue
		}
		switch {
		case end > i+1 && end < len(body) && body[end].Text == "=":
			before := w.Plain && !w.Reread // what is read after that was written here
			w.Plain = true
			for k := end; k < len(body) && body[k].Text != ";"; k++ {
				w.Reread = w.Reread || body[k].Text == name && !before
			}
		case end > i+1 && end < len(body) && body[end].Text == "+=":
			w.Added = true
		case end > i+1 && end+1 < len(body) && strings.Contains("-*/", body[end].Text) &&
			body[end+1].Text == "=":
			w.Plain = true
		case i >= 3 && body[i-1].Text == "&" && body[i-3].Text == "atomicAdd",
			i >= 2 && body[i-1].Text == "(" && body[i-2].Text == "atomicAdd":
			w.Atomic = true
		case end > i+1 && end < len(body) && (i == 0 || body[i-1].Text != "&"):
			w.Reread = w.Reread || !w.Plain
		case i >= 3 && body[i-1].Text == "=" && body[i-2].IsName() && body[i-3].Text == "*" &&
			body[i-2].Text != name:
			w = w.with(writes(body[i:], body[i-2].Text)) // float* row = name + ...
		default:
			if alias := castAlias(body, i); alias != "" && alias != name {
				w = w.with(writes(body[i:], alias))
			}
		}
	}
	return w
}

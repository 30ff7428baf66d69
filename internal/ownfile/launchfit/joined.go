package launchfit

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/observed"
)

// Joined is the name of the function that is made from the launches of a main().
const Joined = "joined_launches"

// mostJoined is the maximum number of launches of such a function.
const mostJoined = 16

// launchWords matches names of numbers that belong to the launch and not to the operator.
var launchWords = regexp.MustCompile(
	`(?i)block|thread|grid|tile|tpb|warp|iter|repeat|trial|split|^b_?[rcmnk]$`)

// joined holds the launches of a main() that become one function.
type joined struct {
	file     *cfacts.File
	run      *observed.Run
	spec     *op.Spec
	events   []observed.Event // until the last launch
	launches []launched
	names    map[int]string   // of memory
	types    map[int]string   // what it holds
	each     map[int]int64    // the bytes of an element of it
	numbers  map[string]int64 // parameters
	params   []string         // their declarations
	// of memory: it is copied to before the first launch, written by a kernel, const in every kernel, and
	// copied from after the launches
	into, made, constant, outof map[int]bool
}

// launched is a launch of a kernel, with the words in main() of the sides of its grid and of its arguments.
type launched struct {
	*observed.Launch
	kernel       *cfacts.Function
	grid, handed [][]cfacts.Token
}

// JoinMain returns a function that launches, for device pointers, the kernels that the main() of a CUDA file
// launches in sequence: if one takes the output of another, none is the operator alone. With alone it joins a
// kernel that is the only one launched there: its arguments may be made from the sizes. ok is false if there
// are no such kernels, or a function cannot have them.
func JoinMain(file *cfacts.File, spec *op.Spec, alone bool) (function string, ok bool) {
	run := file.Observed()
	j := &joined{
		file: file, run: run, spec: spec, names: map[int]string{}, types: map[int]string{},
		each: map[int]int64{}, numbers: map[string]int64{},
		into: map[int]bool{}, made: map[int]bool{}, constant: map[int]bool{}, outof: map[int]bool{},
	}
	together, ok := j.readMemory()
	if !ok || len(j.outof) == 0 || !alone && !together ||
		alone && slices.ContainsFunc(j.launches,
			func(l launched) bool { return l.kernel != j.launches[0].kernel }) {
		return "", false
	}
	j.takeNumbers()
	return j.function()
}

// readMemory finds the launches and what happens to the memory that they are given. together reports whether
// a kernel takes the output of another one. ok is false if the host takes part in the computation, or a
// kernel is not in the file.
func (j *joined) readMemory() (together, ok bool) {
	by := map[int]*cfacts.Function{}
	for at, e := range j.run.Events {
		switch {
		case e.Launch != nil && (j.repeats(e.Launch) || len(j.launches) == mostJoined):
			return together, len(j.launches) > 0 && len(j.launches) < mostJoined
		case e.Launch != nil:
			kernel := j.kernel(e.Launch)
			if kernel == nil {
				return false, false
			}
			grid, handed, _ := j.file.LaunchWords(e.Launch.Name(), e.Launch.Line)
			j.launches = append(j.launches, launched{e.Launch, kernel, grid, handed})
			j.events = j.run.Events[:at+1]
			for i, a := range e.Launch.Arguments {
				p := kernel.Params[i]
				id := a.Place.Memory
				if a.Kind != observed.Pointer || id < 0 {
					if p.Pointer || !a.IsKnown() {
						return false, false
					}
					continue
				}
				if a.Place.Offset != 0 {
					return false, false
				}
				reads := p.Const || !p.Writing.Any() || p.Reread
				others := by[id] != nil && by[id] != kernel
				together = together || reads && others && (!j.into[id] || !p.Reread)
				if j.names[id] == "" {
					j.names[id], j.types[id], j.each[id] = j.free(p.Name), p.Base, a.Bytes
					j.constant[id] = true
				}
				j.constant[id] = j.constant[id] && p.Const
				if p.Writing.Any() {
					j.made[id], by[id] = true, kernel
				}
				if j.run.Memory[id].Managed { // the host reads and writes it without a copy
					j.into[id] = j.into[id] || !j.made[id]
				}
			}
		case e.Copy != nil && e.Copy.To.Memory >= 0 && e.Copy.From.Memory < 0:
			if len(j.launches) > 0 { // before another launch the host takes part
				return together, !slices.ContainsFunc(j.run.Events[at:], func(e observed.Event) bool {
					return e.Launch != nil && !j.repeats(e.Launch)
				})
			}
			j.into[e.Copy.To.Memory] = true
		case e.Copy != nil && e.Copy.From.Memory >= 0 && len(j.launches) > 0:
			j.outof[e.Copy.From.Memory] = true
		}
	}
	for id := range j.made {
		if j.run.Memory[id].Managed && by[id] == j.launches[len(j.launches)-1].kernel {
			j.outof[id] = true
		}
	}
	return together, len(j.launches) > 0
}

// repeats reports whether a launch was made before with the same arguments, as in a loop that measures.
func (j *joined) repeats(l *observed.Launch) bool {
	return slices.ContainsFunc(j.launches, func(o launched) bool {
		return o.Kernel == l.Kernel && o.Grid == l.Grid && slices.Equal(o.Arguments, l.Arguments)
	})
}

// kernel returns the kernel of a launch, or nil if the file does not have it with these parameters.
func (j *joined) kernel(l *observed.Launch) *cfacts.Function {
	i := slices.IndexFunc(j.file.Functions, func(fn cfacts.Function) bool {
		return fn.Kind == cfacts.Kernel && cfacts.LastName(fn.Name) == l.Name() &&
			len(fn.Params) == len(l.Arguments)
	})
	if i < 0 {
		return nil
	}
	return &j.file.Functions[i]
}

// free returns a name that no memory has yet.
func (j *joined) free(name string) string {
	for slices.Contains(slices.Collect(maps.Values(j.names)), name) {
		name += "_"
	}
	return name
}

// takeNumbers decides which numbers become parameters: those that the operator knows by their names, except
// those of a kernel that calls a size of another one differently, and those that do not follow from these.
func (j *joined) takeNumbers() {
	for _, least := range []int{match.First + 1, match.Weak + 1, 0} {
		for _, l := range j.launches {
			for i, a := range l.Arguments {
				p := l.kernel.Params[i]
				declared, fits := p.Base+" "+p.Name, j.fit(p.Name)
				if p.Pointer || fits < least || slices.Contains(j.params, declared) ||
					launchWords.MatchString(p.Name) {
					continue
				}
				known := fits > match.First || fits > match.Weak && !j.isElsewhere(l.kernel, a.Whole)
				whole := a.Kind == observed.Whole
				if whole = whole && (known || a.Whole > 1 && j.number(l, i) == ""); whole {
					j.numbers[p.Name] = a.Whole
				}
				if whole || a.Kind == observed.Real && fits > match.Weak {
					j.params = append(j.params, declared)
				}
			}
		}
	}
}

// fit returns how well a name is that of a size or an attribute of the operator.
func (j *joined) fit(name string) (best int) {
	for _, d := range j.spec.Dims {
		best = max(best, match.Score(j.spec, op.Forward, name, d.Name))
	}
	for _, a := range j.spec.Attributes {
		best = max(best, match.Score(j.spec, op.Forward, name, a.Name))
	}
	return best
}

// isElsewhere reports whether a number is that of a parameter with an operator's own name, which a kernel
// lacks.
func (j *joined) isElsewhere(kernel *cfacts.Function, n int64) bool {
	for name, size := range j.numbers {
		has := func(p cfacts.Param) bool { return p.Name == name }
		if size == n && j.fit(name) > match.First && !slices.ContainsFunc(kernel.Params, has) {
			return true
		}
	}
	return false
}

// number returns the expression of an integer argument that follows from the parameters, "" if it does not.
func (j *joined) number(l launched, at int) string {
	text, _ := Fit{Sizes: j.numbers, Block: l.Block}.Number(l.Arguments[at].Whole)
	return cmp.Or(text, j.side(l, at))
}

// side returns the expression of an argument that main() writes like the side of a grid: "blocks" in
// "first<<<blocks, 256>>>(x, n)" and "second<<<1, 256>>>(sums, blocks)". It returns "" for others.
func (j *joined) side(l launched, at int) (text string) {
	if at >= len(l.handed) || len(l.handed[at]) == 1 && !l.handed[at][0].IsName() {
		return "" // a number that is written out
	}
	words := cfacts.Join(l.handed[at])
	for _, o := range j.launches {
		for axis, side := range o.grid[:min(len(o.grid), len(o.Grid))] {
			if text == "" && cfacts.Join(side) == words && o.Grid[axis] == l.Arguments[at].Whole {
				text, _ = Fit{Sizes: j.numbers, Block: o.Block, Axis: axis}.Number(o.Grid[axis])
			}
		}
	}
	return text
}

// functions are those of an expression of sizes, in C++.
const functions = "const auto triad_ceildiv = [](auto a, auto b) { return (a + b - 1) / b; };\n" +
	"const auto triad_max = [](auto a, auto b) { return a > b ? a : b; };\n" +
	"const auto triad_min = [](auto a, auto b) { return a < b ? a : b; };\n"

// asCode writes the calls of these functions in C++.
var asCode = strings.NewReplacer("ceildiv(", "triad_ceildiv(", "max(", "triad_max(", "min(", "triad_min(")

// realAsCode writes infinities and NaN in C++.
var realAsCode = strings.NewReplacer("-nan", "NAN", "nan", "NAN", "inf", "INFINITY")

// argument returns the C++ of an argument of a launch.
func (j *joined) argument(l launched, at int) string {
	p, a := l.kernel.Params[at], l.Arguments[at]
	switch n, taken := j.numbers[p.Name]; {
	case a.Kind == observed.Pointer && a.Place.Memory >= 0:
		return j.names[a.Place.Memory]
	case a.Kind == observed.Whole && taken && n == a.Whole:
		return p.Name
	case a.Kind == observed.Whole && launchWords.MatchString(p.Name):
		return cmp.Or(j.side(l, at), fmt.Sprint(a.Whole))
	case a.Kind == observed.Whole:
		return cmp.Or(j.number(l, at), fmt.Sprint(a.Whole))
	case slices.Contains(j.params, p.Base+" "+p.Name):
		return p.Name
	}
	return realAsCode.Replace(a.Real)
}

// function writes the function: inputs first, results last.
func (j *joined) function() (string, bool) {
	var inputs, outputs, own, body, frees []string
	for _, id := range slices.Sorted(maps.Keys(j.names)) {
		name, pointer := j.names[id], j.types[id]+" *"+j.names[id]
		switch {
		case j.outof[id]:
			outputs = append(outputs, pointer)
		case j.into[id] && j.constant[id]:
			inputs = append(inputs, "const "+pointer)
		case j.into[id]:
			inputs = append(inputs, pointer)
		default:
			own = append(own, fmt.Sprintf("%s = nullptr;\ncudaMalloc(&%s, %s);", pointer, name, j.room(id)))
			frees = append(frees, "cudaFree("+name+");")
		}
	}
	made := 0
	for _, e := range j.events {
		switch {
		case e.Fill != nil && j.names[e.Fill.To.Memory] != "":
			name := j.names[e.Fill.To.Memory]
			if e.Fill.To.Offset == 0 && e.Fill.Bytes == j.run.Memory[e.Fill.To.Memory].Bytes {
				body = append(body, fmt.Sprintf("cudaMemset(%s, %d, %s);", name, e.Fill.Value,
					j.room(e.Fill.To.Memory)))
			}
		case e.Copy != nil && e.Copy.To.Memory >= 0 && e.Copy.From.Memory >= 0:
			return "", false
		case e.Launch != nil:
			body = append(body, j.launch(j.launches[made]))
			made++
		}
	}
	return fmt.Sprintf("void %s(%s)\n{\n%s%s\n}\n", Joined,
		strings.Join(slices.Concat(inputs, outputs, j.params), ", "), functions,
		asCode.Replace(strings.Join(slices.Concat(own, body, frees), "\n"))), true
}

// launch writes a launch.
func (j *joined) launch(l launched) string {
	var sides, arguments []string
	for axis, n := range l.Grid {
		text, _ := Fit{Sizes: j.numbers, Block: l.Block, Axis: axis}.Number(n)
		names := slices.Sorted(maps.Keys(j.numbers))
		if n == 1 && len(names) > 0 && cfacts.HasTexts(l.kernel.Body, "blockIdx", ".", Axes[axis]) {
			text = names[0] // one block is enough for whichever it counts
			for _, name := range names[1:] {
				text = fmt.Sprintf("max(%s, %s)", name, text)
			}
			text = fmt.Sprintf("ceildiv(%s, %d)", text, l.Block[axis])
		}
		if axis < len(l.grid) && j.isConstant(l.kernel, cfacts.OnlyName(l.grid[axis])) {
			text = ""
		}
		sides = append(sides, cmp.Or(text, fmt.Sprint(n)))
	}
	for i := range l.Arguments {
		arguments = append(arguments, j.argument(l, i))
	}
	shared := Fit{Sizes: j.numbers, Block: l.Block}.Shared(l.Shared)
	return fmt.Sprintf("%s<<<dim3(%s), dim3(%d, %d, %d), %s>>>(%s);", l.Kernel, strings.Join(sides, ", "),
		l.Block[0], l.Block[1], l.Block[2], shared, strings.Join(arguments, ", "))
}

// isConstant reports whether a name is that of a constant of the file that a kernel's lines use too: as many
// blocks as it has parts.
func (j *joined) isConstant(kernel *cfacts.Function, name string) bool {
	_, _, constant := j.file.Constant(name)
	return constant && cfacts.HasTexts(kernel.Body, name)
}

// room returns the C++ of the bytes of memory of the function's own: products of sizes that give as many
// elements as main() allocates, else main()'s bytes as often as the sizes are larger than there.
func (j *joined) room(id int) string {
	names, bytes := slices.Sorted(maps.Keys(j.numbers)), j.run.Memory[id].Bytes
	twice := slices.Sorted(slices.Values(slices.Concat(names, names)))
	found := j.products(fmt.Sprintf("size_t(%d)", j.each[id]), twice, bytes/max(j.each[id], 1), 4)
	if len(found) > 0 {
		slices.Sort(found)
		return strings.Join(slices.Compact(found), " + ") // at least each of them
	}
	text := fmt.Sprintf("size_t(%d)", bytes)
	for _, name := range names {
		if n := j.numbers[name]; n > 0 { // a switch may be off there, or at the call
			text += fmt.Sprintf(" * (%[1]s > %[2]d ? (%[1]s + %[3]d) / %[2]d : 1)", name, n, n-1)
		}
	}
	return text
}

// products returns the products of at most so many sizes that give a number, each after a text.
func (j *joined) products(text string, names []string, n int64, most int) (found []string) {
	if n == 1 {
		return []string{text}
	}
	for i, name := range names {
		if size := j.numbers[name]; size > 1 && n%size == 0 && most > 0 {
			found = append(found, j.products(text+" * "+name, names[i+1:], n/size, most-1)...)
		}
	}
	return found
}

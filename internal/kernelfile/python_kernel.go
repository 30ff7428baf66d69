package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// The threads of a Triton kernel do not matter: it is launched with a grid, and its constexpr parameters that
// are not sizes of the operator are tiles.
const (
	tileAlone  = "1024" // elements that one program covers
	tileSide   = "32"   // of a tile with two sides
	tileInLoop = "256"  // that a program steps by
)

var (
	programID = regexp.MustCompile(`tl\.program_id\(\s*(?:axis\s*=\s*)?([012])\s*\)(?:\.to\(tl\.int64\))?`)
	namesReal = regexp.MustCompile(`(?i)^(eps\w*|\w*scale|alpha|beta|theta|dropout\w*|(drop_?)?p(rob\w*)?)$`)
)

// namesTile reports whether a name is that of a tile's length: BLOCK_M, TILE, TILE_SIZE.
func namesTile(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "block") || strings.Contains(name, "tile") ||
		strings.HasSuffix(name, "_size")
}

// takeUse distinguishes pointers, strides, tiles and numbers of a kernel by how it uses them.
func takeUse(p *cfacts.Param, fact pyfacts.Param) {
	p.Untyped, p.Pointer, p.Base = false, false, "int"
	switch {
	case strings.Contains(p.Text, "constexpr"):
		p.Optional, p.Place = true, cfacts.InTile
		if namesReal.MatchString(p.Name) {
			p.Base = "float"
		}
	case strings.Contains(strings.ToLower(p.Name), "stride"):
		p.Place = cfacts.InStride
	case fact.Tensor:
		p.Base, p.Pointer, p.Const = "void", true, !fact.Written
	case namesReal.MatchString(p.Name):
		p.Base = "float"
	}
}

// tritonLaunch is the launch of a Triton kernel: its grid in the operator's sizes, and a Python value for
// each constexpr parameter that is not a size.
type tritonLaunch struct {
	grid  []string
	tiles map[string]string
	said  bool // by --grid
}

func (l *tritonLaunch) String() string {
	text := fmt.Sprintf("grid (%s)", strings.Join(l.grid, ", "))
	for _, name := range slices.Sorted(maps.Keys(l.tiles)) {
		text += fmt.Sprintf(", %s=%s", name, strings.ReplaceAll(l.tiles[name], pythonName(""), ""))
	}
	return text
}

// proposeTriton finds the grid and the tiles of a Triton kernel.
func (b *Binding) proposeTriton() error {
	text := programID.ReplaceAllString(b.Function.Code, "pid_axis_$1")
	l := &tritonLaunch{tiles: map[string]string{}}
	axes := 0
	for axis := range 3 {
		if strings.Contains(text, fmt.Sprint("pid_axis_", axis)) {
			axes = axis + 1
		}
	}
	moved := map[string]string{} // the tiles that program ids are multiplied with
	for axis := range max(axes, 1) {
		names := []string{fmt.Sprint("pid_axis_", axis)}
		alone := regexp.MustCompile(`(?m)^\s*(\w+)\s*=\s*` + names[0] + `\s*$`)
		for _, m := range alone.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		l.grid = append(l.grid, b.gridOf(text, strings.Join(names, "|"), axes, axis, moved))
	}
	for _, a := range b.Args {
		if a.Place == cfacts.InStride {
			if _, err := b.strideOfTensor(a); err != nil {
				return err
			}
		}
		if a.Place != cfacts.InTile || a.Role != Nothing {
			continue
		}
		value := b.tile(text, a, moved)
		if value == "" {
			return b.errorf("what %s stands for is not clear: add a function that launches the kernel",
				a.Name)
		}
		l.tiles[a.Name] = value
	}
	if asked := b.Options.Grid; asked != "" {
		sizes, err := b.launchSizes("--grid", asked)
		if err != nil {
			return err
		}
		l.grid, l.said = sizes[:], true
		for len(l.grid) > 1 && l.grid[len(l.grid)-1] == "1" {
			l.grid = l.grid[:len(l.grid)-1]
		}
	}
	b.triton = l
	return nil
}

// gridOf returns the number of programs along an axis. names is a pattern for the names of its program id.
func (b *Binding) gridOf(text, names string, axes, axis int, moved map[string]string) string {
	rows := b.outputSizes()
	last := rows[max(len(rows)-1, 0):]
	m := regexp.MustCompile(`(?m)(?:(\w+)\s*=\s*)?\(?\b(?:`+names+`)\)?\s*\*\s*(\w+)\b(.*)`).
		FindAllStringSubmatch(text, -1)
	for _, found := range m {
		tile := slices.IndexFunc(b.Args, func(a Argument) bool {
			return a.Name == found[2] && a.Place == cfacts.InTile && a.Role == Nothing
		})
		if tile < 0 {
			continue
		}
		side := tileAlone
		if axes > 1 {
			side = tileSide
		}
		moved[found[2]] = side
		if limit := b.comparedWith(text, found[1]); limit != "" {
			return fmt.Sprintf("ceildiv(%s, %s)", limit, side)
		}
		if axes == 1 {
			return fmt.Sprintf("ceildiv(%s, %s)", strings.Join(rows, " * "), side)
		}
	}
	if limit := b.comparedWith(text, names); limit != "" {
		return limit
	}
	switch {
	case axes <= 1 && len(rows) == 1 && slices.ContainsFunc(b.Args, func(a Argument) bool {
		return a.Role == Output && b.Function.FactsOf(a.Name).ByProgram
	}):
		return rows[0]
	case axes <= 1 && len(rows) > 1:
		return strings.Join(rows[:len(rows)-1], " * ")
	case axes <= 1:
		return "1"
	case axis == 0:
		return strings.Join(rows[:min(len(rows), max(len(rows)-1, 1))], " * ")
	}
	return strings.Join(last, " * ")
}

// comparedWith returns the size that a variable is compared with, or "" if there is none.
func (b *Binding) comparedWith(text, names string) string {
	if names == "" {
		return ""
	}
	for _, m := range regexp.MustCompile(`\b(?:`+names+`)(?:\[[^\]]*\])?\s*(?:<|>=)\s*(\w+)`).
		FindAllStringSubmatch(text, -1) {
		for _, a := range b.Args {
			if a.Name == m[1] && a.Role == Size {
				return dimsOrProduct(a.Target)
			}
		}
	}
	return ""
}

// dimsOrProduct returns a size as an expression, the first of several equal ones.
func dimsOrProduct(target string) string {
	switch {
	case strings.Contains(target, "="):
		return dimsOf(target)[0]
	case strings.Contains(target, "*"):
		return "(" + target + ")"
	}
	return target
}

// tile returns the value of a constexpr parameter in Python, or "" if nothing gives it.
func (b *Binding) tile(text string, a Argument, moved map[string]string) string {
	name, preset := regexp.QuoteMeta(a.Name), b.Function.FactsOf(a.Name)
	ranges := regexp.MustCompile(`(\w+)\s*=\s*tl\.arange\(0,\s*` + name + `\)`)
	steps := regexp.MustCompile(`range\([^\n]*(?:,|//)\s*` + name + `\s*[),]`)
	switch {
	case moved[a.Name] != "":
		return moved[a.Name]
	case preset.Optional && strings.Trim(preset.Default, "0123456789") == "":
		return preset.Default
	case preset.Optional:
		return fmt.Sprintf("default(_MODULE.%s.fn, %q)", b.Function.Call, a.Name)
	case !namesTile(a.Name) && !regexp.MustCompile(`tl\.arange\(0,\s*`+name+`\)`).MatchString(text):
		return ""
	case steps.MatchString(strings.ReplaceAll(text, "tl.arange", "")):
		if strings.Contains(text, "tl.dot(") {
			return tileSide // the sum is of several steps then
		}
		return tileInLoop
	}
	limit := ""
	if m := ranges.FindStringSubmatch(text); m != nil {
		limit = b.comparedWith(text, m[1])
	}
	if sizes := b.outputSizes(); limit == "" && len(sizes) > 0 {
		limit = sizes[len(sizes)-1]
	}
	return "power_of_2(" + pythonExpression(limit) + ")"
}

// tritonCall returns the launch of a kernel.
func (b *Binding) tritonCall() string {
	var grid, words []string
	for _, g := range b.triton.grid {
		grid = append(grid, pythonExpression(g))
	}
	for _, a := range b.Args {
		value := b.pythonValue(a)
		switch {
		case a.Place == cfacts.InStride:
			value, _ = b.strideOfTensor(a) // proposeTriton has refused what it cannot be
		case value == "":
			value = b.triton.tiles[a.Name]
		}
		if value != "" {
			words = append(words, a.Name+"="+value)
		}
	}
	return fmt.Sprintf("_MODULE.%s[(%s,)](%s)", b.Function.Call, strings.Join(grid, ", "),
		strings.Join(words, ", "))
}

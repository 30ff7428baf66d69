package params

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launches"
)

// proposeTriton finds the grid and the tiles of a Triton kernel.
func proposeTriton(b *binding.Binding) error {
	text := binding.ProgramID.ReplaceAllString(b.Function.Code, "pid_axis_$1")
	l := &binding.TritonLaunch{Tiles: map[string]string{}}
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
		l.Grid = append(l.Grid, gridOf(b, text, strings.Join(names, "|"), axes, axis, moved))
	}
	for _, a := range b.Args {
		if a.Place == cfacts.InStride {
			if _, err := extents.StrideOfTensor(b, a); err != nil {
				return err
			}
		}
		if a.Place != cfacts.InTile || a.Role != binding.Nothing {
			continue
		}
		value := tile(b, text, a, moved)
		if value == "" {
			return b.Errorf("what %s stands for is not clear: add a function that launches the kernel",
				a.Name)
		}
		l.Tiles[a.Name] = value
	}
	if asked := b.Options.Grid; asked != "" {
		sizes, err := launches.LaunchSizes(b, "--grid", asked)
		if err != nil {
			return err
		}
		l.Grid, l.Said = sizes[:], true
		for len(l.Grid) > 1 && l.Grid[len(l.Grid)-1] == "1" {
			l.Grid = l.Grid[:len(l.Grid)-1]
		}
	}
	b.Triton = l
	return nil
}

// gridOf returns the number of programs along an axis. names is a pattern for the names of its program id.
func gridOf(b *binding.Binding, text, names string, axes, axis int, moved map[string]string) string {
	rows := launches.OutputSizes(b)
	last := rows[max(len(rows)-1, 0):]
	m := regexp.MustCompile(`(?m)(?:(\w+)\s*=\s*)?\(?\b(?:`+names+`)\)?\s*\*\s*(\w+)\b(.*)`).
		FindAllStringSubmatch(text, -1)
	for _, found := range m {
		tile := slices.IndexFunc(b.Args, func(a binding.Argument) bool {
			return a.Name == found[2] && a.Place == cfacts.InTile && a.Role == binding.Nothing
		})
		if tile < 0 {
			continue
		}
		side := binding.TileAlone
		if axes > 1 {
			side = binding.TileSide
		}
		moved[found[2]] = side
		if limit := comparedWith(b, text, found[1]); limit != "" {
			return fmt.Sprintf("ceildiv(%s, %s)", limit, side)
		}
		if axes == 1 {
			return fmt.Sprintf("ceildiv(%s, %s)", strings.Join(rows, " * "), side)
		}
	}
	if limit := comparedWith(b, text, names); limit != "" {
		return limit
	}
	switch {
	case axes <= 1 && len(rows) == 1 && slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		return a.Role == binding.Output && b.Function.FactsOf(a.Name).ByProgram
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
func comparedWith(b *binding.Binding, text, names string) string {
	if names == "" {
		return ""
	}
	for _, m := range regexp.MustCompile(`\b(?:`+names+`)(?:\[[^\]]*\])?\s*(?:<|>=)\s*(\w+)`).
		FindAllStringSubmatch(text, -1) {
		for _, a := range b.Args {
			if a.Name == m[1] && a.Role == binding.Size {
				return binding.DimsOrProduct(a.Target)
			}
		}
	}
	return ""
}

// tile returns the value of a constexpr parameter in Python, or "" if nothing gives it.
func tile(b *binding.Binding, text string, a binding.Argument, moved map[string]string) string {
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
	case !binding.NamesTile(a.Name) && !regexp.MustCompile(`tl\.arange\(0,\s*`+name+`\)`).MatchString(text):
		return ""
	case steps.MatchString(strings.ReplaceAll(text, "tl.arange", "")):
		if strings.Contains(text, "tl.dot(") {
			return binding.TileSide // the sum is of several steps then
		}
		return binding.TileInLoop
	}
	limit := ""
	if m := ranges.FindStringSubmatch(text); m != nil {
		limit = comparedWith(b, text, m[1])
	}
	if sizes := launches.OutputSizes(b); limit == "" && len(sizes) > 0 {
		limit = sizes[len(sizes)-1]
	}
	return "power_of_2(" + extents.PythonExpression(limit) + ")"
}

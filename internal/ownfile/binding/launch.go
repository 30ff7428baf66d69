package binding

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Launch is the launch of a lone kernel: expressions over the dims, three each.
type Launch struct {
	Grid, Block [3]string
	Shared      string // bytes of dynamic shared memory
	Proposed    []string
	Guessed     bool // the kernel's lines do not say it
}

func (l *Launch) String() string {
	text := fmt.Sprintf("grid (%s) and block (%s)", Sizes(l.Grid), Sizes(l.Block))
	if l.Shared != "0" {
		text += ", " + l.Shared + " bytes of dynamic shared memory"
	}
	if len(l.Proposed) > 0 {
		text += " (proposed: say otherwise with " + strings.Join(l.Proposed, " ") + ")"
	}
	return text
}

// Sizes lists the sizes of a grid or block without trailing ones.
func Sizes(s [3]string) string {
	n := 3
	for n > 1 && s[n-1] == "1" {
		n--
	}
	return strings.Join(s[:n], ", ")
}

// Constant returns the value of a constant that the kernel itself defines, "const int lanes = 32;"; false
// where it has none of that name with a value of one word.
func (k Body) Constant(name string) (string, bool) {
	for i := 0; i+2 < len(k.Tokens); i++ {
		t := k.Tokens
		if t[i].Text != "const" && t[i].Text != "constexpr" {
			continue
		}
		for j := i + 1; j+3 < len(t) && t[j].Text != ";"; j++ {
			if t[j].Text == name && t[j+1].Text == "=" && t[j+3].Text == ";" {
				return t[j+2].Text, true
			}
		}
	}
	return "", false
}

// The threads of a Triton kernel do not matter: it is launched with a grid, and its constexpr parameters that
// are not sizes of the operator are tiles.
const (
	TileAlone  = "1024" // elements that one program covers
	TileSide   = "32"   // of a tile with two sides
	TileInLoop = "256"  // that a program steps by
)

var (
	ProgramID = regexp.MustCompile(`tl\.program_id\(\s*(?:axis\s*=\s*)?([012])\s*\)(?:\.to\(tl\.int64\))?`)
	NamesReal = regexp.MustCompile(`(?i)^(eps\w*|\w*scale|alpha|beta|theta|dropout\w*|(drop_?)?p(rob\w*)?)$`)
)

// NamesTile reports whether a name is that of a tile's length: BLOCK_M, TILE, TILE_SIZE.
func NamesTile(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "block") || strings.Contains(name, "tile") ||
		strings.HasSuffix(name, "_size")
}

// TritonLaunch is the launch of a Triton kernel: its grid in the operator's sizes, and a Python value for
// each constexpr parameter that is not a size.
type TritonLaunch struct {
	Grid  []string
	Tiles map[string]string
	Said  bool // by --grid
}

func (l *TritonLaunch) String() string {
	text := fmt.Sprintf("grid (%s)", strings.Join(l.Grid, ", "))
	for _, name := range slices.Sorted(maps.Keys(l.Tiles)) {
		text += fmt.Sprintf(", %s=%s", name, strings.ReplaceAll(l.Tiles[name], PythonName(""), ""))
	}
	return text
}

// DimsOrProduct returns a size as an expression, the first of several equal ones.
func DimsOrProduct(target string) string {
	switch {
	case strings.Contains(target, "="):
		return DimsOf(target)[0]
	case strings.Contains(target, "*"):
		return "(" + target + ")"
	}
	return target
}

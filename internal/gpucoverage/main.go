// Command gpucoverage reads a coverage profile and names the statements of code that only a GPU reaches which
// no test ran, including those with the fake GPU. A list names the exceptions: functions that call the
// driver, and why. Statements that only return an error are ignored.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	profile := flag.String("profile", "", "a coverage profile, as go tool covdata textfmt writes it")
	list := flag.String("list", "", "the files that are asked for, and the functions that may be left")
	flag.Parse()
	missing, err := check(*profile, *list)
	for _, m := range missing {
		fmt.Println(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpucoverage:", err)
	}
	if err != nil || len(missing) > 0 {
		os.Exit(1)
	}
}

// block is a piece of a file without a branch.
type block struct {
	file     string
	from, to int // lines
}

// check returns a sentence for every block that was not run and is not excepted, and for every function on
// the list that need not be there.
func check(profile, list string) ([]string, error) {
	files, allowed, err := read(list)
	if err != nil {
		return nil, err
	}
	ran, err := blocks(profile)
	if err != nil {
		return nil, err
	}
	var missing []string
	used := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(text), "\n")
		functions, err := functionsOf(file, text)
		if err != nil {
			return nil, err
		}
		seen := false
		for b, covered := range ran {
			if b.file != file {
				continue
			}
			seen = true
			inPanic := strings.Contains(lines[b.from-1], "defer panics.Caught(") // the message of a panic
			if covered || inPanic || onlyHandsOn(lines[b.from-1:b.to]) {
				continue
			}
			name := functions[b.from]
			if allowed[file+" "+name] {
				used[file+" "+name] = true
				continue
			}
			missing = append(missing, fmt.Sprintf("%s:%d: %s: no test ran this: %s", file, b.from, name,
				strings.TrimSpace(lines[b.from-1])))
		}
		if !seen {
			missing = append(missing, file+": the profile says nothing of it")
		}
	}
	for name := range allowed {
		if !used[name] {
			missing = append(missing, list+": "+name+
				" may be left, and is covered, or is not there: take it off the list")
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// read reads a list: a line is a file, or a file, a function and why it is excepted.
func read(name string) (files []string, allowed map[string]bool, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	allowed = map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case len(words) == 1:
			files = append(files, words[0])
		case len(words) == 2:
			return nil, nil, fmt.Errorf("%s: %s: say why it may be left", name, strings.TrimSpace(line))
		default:
			allowed[words[0]+" "+words[1]] = true
		}
	}
	return files, allowed, nil
}

var profileLine = regexp.MustCompile(`^triad/(\S+\.go):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$`)

// blocks returns the blocks of a profile; a repeated one counts as run if any entry says so.
func blocks(name string) (map[block]bool, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all := map[block]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		m := profileLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		b := block{file: m[1]}
		if _, err := fmt.Sscan(m[2]+" "+m[3], &b.from, &b.to); err != nil {
			return nil, err
		}
		all[b] = all[b] || m[4] != "0"
	}
	return all, nil
}

// functionsOf maps every line to its function: "read", "runtimeLibrary.Open".
func functionsOf(name string, text []byte) (map[int]string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		return nil, err
	}
	at := map[int]string{}
	for _, d := range parsed.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is {
			continue
		}
		full := f.Name.Name
		if f.Recv != nil {
			kind := f.Recv.List[0].Type
			if star, is := kind.(*ast.StarExpr); is {
				kind = star.X
			}
			full = fmt.Sprint(kind) + "." + full
		}
		for line := set.Position(f.Pos()).Line; line <= set.Position(f.End()).Line; line++ {
			at[line] = full
		}
	}
	return at, nil
}

// remark matches a comment after a statement.
var remark = regexp.MustCompile(`\s+// .*$`)

var handsOn = regexp.MustCompile(`^(return .*\berr\b.*|return ` +
	`.*(fmt\.Errorf|ctx\.Err)\(.*|return|continue|break|case .*err.*:|\}.*|.*\{)$`)

// statements joins the lines of a statement that continues after a comma.
func statements(lines []string) []string {
	var all []string
	for i, line := range lines {
		if i > 0 && strings.HasSuffix(lines[i-1], ",") {
			all[len(all)-1] += " " + strings.TrimSpace(line)
			continue
		}
		all = append(all, line)
	}
	return all
}

// onlyHandsOn reports whether a block does nothing but return an error.
func onlyHandsOn(lines []string) bool {
	for i, line := range statements(lines) {
		line = strings.TrimSpace(remark.ReplaceAllString(line, ""))
		if i == 0 && !strings.HasSuffix(line, "{") && len(lines) > 1 {
			return false
		}
		if line != "" && !strings.HasPrefix(line, "//") && !handsOn.MatchString(line) {
			return false
		}
	}
	return true
}

package ownkernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/declaration"
	"triad/internal/op"
)

// rowsLine is the line of most of the functions here.
const rowsLine = "// triad: " + rowsOperator + "(x=x, y=y, rows=rows, cols=cols)"

// A line goes above the function and what belongs to it, with the line ending and the indentation of the line
// below it. The file keeps its mode, and a link to it remains a link.
func TestLinesAreWritten(t *testing.T) {
	const head = "solve(const float* x, float* y, int rows, int cols) {}\r\n"
	const kernel = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n# its grid\n" +
		"def rows_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):\n" +
		"    at = tl.program_id(0) * cols + tl.arange(0, BLOCK)\n" +
		"    tl.store(y_ptr + at, tl.load(x_ptr + at))\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"a function": {"a.cu", "int n;\n" + softmax + "\n", "int n;\n" + rowsLine + "\n" + softmax + "\n"},
		"its head": {
			"a.cu", "int n;\r\n\r\nextern \"C\" void\r\n  " + head,
			"int n;\r\n\r\n" + rowsLine + "\r\nextern \"C\" void\r\n  " + head,
		},
		"the first line": {"a.cu", "\ufeff" + softmax, "\ufeff" + rowsLine + "\n" + softmax},
		"indented": {
			"a.cu", "namespace a {\n\t" + softmax + "\n}\n",
			"namespace a {\n\t" + rowsLine + "\n\t" + softmax + "\n}\n",
		},
		"a decorator": {"a.py", kernel, strings.Replace(kernel, "@triton", "# triad: "+rowsOperator+
			"(x=x_ptr, y=y_ptr, cols=cols, grid=rows)\n@triton", 1)},
		"a function of Python": {
			"a.py", "def f(x):\n    return x\n",
			"# triad: " + rowsOperator + "(x=x)\ndef f(x):\n    return x\n",
		},
	} {
		r := interpretation(t, rowsOperator, c.file, c.text)
		if err := os.Chmod(r.Request, 0o640); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), c.file)
		if err := os.Symlink(r.Request, link); err != nil {
			t.Fatal(err)
		}
		path := r.Request
		r.Request = link
		f := read(t, r)
		said := WriteLines([]*File{f})
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s: %q\n got %q\nwant %q", name, said, got, c.want)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode %v, want 0640 (%v)", name, info.Mode(), err)
		}
		if at, err := os.Readlink(link); err != nil || at != path {
			t.Errorf("%s: the link leads to %q: %v", name, at, err)
		}
		again := read(t, r)
		said = WriteLines([]*File{again})
		if len(said) != 1 || !strings.Contains(said[0], "says already how") {
			t.Errorf("%s: written again: %q", name, said)
		}
	}
}

// A file that cannot be written, that has changed, or that would be read differently is left unchanged.
func TestLinesAreNotWritten(t *testing.T) {
	const otherwise = "with a line above solve it would be read otherwise"
	type change = func(t *testing.T, path string, f *File)
	for name, c := range map[string]struct {
		text, says string
		change
	}{
		"read only": {softmax, "it cannot be written: permission", func(t *testing.T, path string, _ *File) {
			if err := os.Chmod(path, 0o444); err != nil {
				t.Fatal(err)
			}
		}},
		"changed": {softmax, "it has changed since it was read", func(t *testing.T, path string, _ *File) {
			if err := os.WriteFile(path, []byte(softmax+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"gone": {softmax, "no such file", func(t *testing.T, path string, _ *File) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
		"nothing right": {softmax, "its row says what is open", func(_ *testing.T, _ string, f *File) {
			f.Propose(op.Forward, declaration.Line{Operator: declaration.Open})
		}},
		"another interpretation": {softmax, otherwise, func(_ *testing.T, _ string, f *File) {
			f.Propose(op.Forward, declaration.Line{
				Operator: rowsOperator, Words: []declaration.Word{{Key: "x", Value: "z"}},
			})
		}},
	} {
		r := interpretation(t, rowsOperator, "a.cu", c.text)
		f := read(t, r)
		c.change(t, r.Request, f)
		before, _ := os.ReadFile(r.Request)
		said := WriteLines([]*File{f})
		after, _ := os.ReadFile(r.Request)
		if string(after) != string(before) || len(said) != 1 ||
			!strings.Contains(said[0], "is left as it is: ") || !strings.Contains(said[0], c.says) {
			t.Errorf("%s: %q, want it left and %q; the file is\n%s", name, said, c.says, after)
		}
	}
}

// The line with a malformed or unknown word is reported with its file and position.
func TestLineIsRefusedAtItsPlace(t *testing.T) {
	r := interpretation(t, rowsOperator, "a.cu", "\n// triad: "+rowsOperator+"(x=z)\n"+softmax)
	_, err := r.Read()
	want := r.Request + ":2:21: solve has no parameter "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Each of several functions of a file gets its line.
func TestLinesOfSeveralFunctionsAreWritten(t *testing.T) {
	second := strings.Replace(softmax, "solve", "other", 1)
	r := interpretation(t, rowsOperator, "a.cu", softmax+"\n"+second+"\n")
	path := r.Request
	var files []*File
	for _, name := range []string{":solve", ":other"} {
		r.Request = path + name
		files = append(files, read(t, r))
	}
	said := WriteLines(files)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := rowsLine + "\n" + softmax + "\n" + rowsLine + "\n" + second + "\n"; string(got) != want {
		t.Errorf("%q\n got %q\nwant %q", said, got, want)
	}
}

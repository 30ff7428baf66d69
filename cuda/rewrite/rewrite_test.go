package rewrite

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden compares each testdata/*.cu, rewritten, with its golden file.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatalf("find golden inputs: %v, %v", files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Source(filepath.Base(name), text)
			if err != nil {
				t.Fatal(err)
			}
			sameLines(t, text, got.Text)
			golden := strings.TrimSuffix(name, ".cu") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got.Text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			gotLines, wantLines := strings.Split(string(got.Text), "\n"), strings.Split(string(want), "\n")
			for i := range min(len(gotLines), len(wantLines)) {
				if gotLines[i] != wantLines[i] {
					t.Errorf("line %d:\n got %s\nwant %s", i, gotLines[i], wantLines[i])
				}
			}
		})
	}
}

// What is written into a file is out of reach of its macros: #define launch, #define kernel.
func TestMacrosOfTheFileDoNotReachTheRewriting(t *testing.T) {
	const text = "extern __shared__ float s[];\n" +
		"__global__ void k(int *x) { __shared__ int a[4]; a[0] = *x; }\n" +
		"void f(int *x) { k<<<1, 2>>>(x); void *all[] = {&x}; cudaLaunchKernel((void *)k, 1, 2, all); }\n"
	got, err := Source("k.cu", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(`(?:::|[).])(launch|kernel|argument|shared|named)\b`)
	found := plain.FindAllString(string(got.Text), -1)
	if len(found) > 0 || !bytes.Contains(got.Text, []byte("::cuemu_")) {
		t.Errorf("macros may take %q in\n%s", found, got.Text)
	}
}

func sameLines(t *testing.T, original, rewritten []byte) {
	t.Helper()
	if got, want := bytes.Count(rewritten, []byte("\n")), bytes.Count(original, []byte("\n"))+1; got != want {
		t.Errorf("%d newlines, want %d: one for each of the original and one for #line", got, want)
	}
}

// TestUnchanged: text without launches and shared memory passes through byte for byte.
func TestUnchanged(t *testing.T) {
	for _, text := range []string{
		"", "\n", "int x = 1 << 2 >> 1;", "// k<<<1, 2>>>(x)\n", "/* __shared__ */",
		`const char* s = "k<<<1>>>(x) \" __shared__";`, "char c = '\"'; char d = '\\'';",
		"// a comment goes on \\\n k<<<1, 2>>>(x)\n", `auto s = R"(k<<<1, 2>>>("x"))";`,
		"int n = 0x1'000'000;", "#warning can't do k<<<1, 2>>>(x)\n",
		"std::vector<std::vector<std::vector<int>>>(x);",
		"__attribute__((__noinline__, unused)) void f();", "int my__shared__x;", "\"unterminated\nint x;",
		"/* unterminated <<<",
	} {
		got, err := Source("a.cu", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if want := "#line 1 \"a.cu\"\n" + text; string(got.Text) != want {
			t.Errorf("%q became %q", text, got.Text)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{"#define BEGIN <<<\n", 1, "macro"},
		{"\n#define CFG(n) <<<n, 256>>>\n", 2, "macro"},
		{"#define ALL(k) k<<<1, 2>>>\n", 1, "CUDA_LAUNCH"},
		{"\n\nvoid f() { k<<<1, 2; }\n", 3, "the launch of k"},
		{"void f() { k<a < b><<<1, 2>>>(x); }", 1, "cannot read"},
		{"#define TILE(n) __shared__ float t[n]\n#define B 1\n", 1, "semicolon"},
		{"__global__ void f(__shared__ float* x) {}", 1, "start of a declaration"},
		{"void f() { __shared__ int x = 0; }", 1, "cannot have values"},
		{"void f() { extern __shared__ float s; }", 1, "without a size"},
		{"void f() { k<<<1, g([&]{ j<<<1, 2>>>(); })>>>(x); }", 1, "statement of its own"},
	} {
		_, err := Source("dir/a.cu", []byte(c.text))
		var place *Error
		if !errors.As(err, &place) || place.Line != c.line || place.File != "dir/a.cu" ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one at line %d with %q", c.text, err, c.line, c.want)
		}
	}
}

func TestNotes(t *testing.T) {
	got, err := Source("a.cu",
		[]byte("int asmx;\n__asm__ volatile (\"x\");\n// asm(\"\")\n"+
			"#define BAR() asm(\"bar.arrive 1, 64;\")\n"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, n := range got.Notes {
		lines = append(lines, n.Line)
	}
	if want := []int{2, 4}; !slices.Equal(lines, want) {
		t.Errorf("notes at lines %v, want %v", lines, want)
	}
}

func TestIncludes(t *testing.T) {
	got := Includes([]byte("\ufeff#include \"a.cuh\"\n// #include \"b.cuh\"\n #  include \"dir/c.cuh\" // " +
		"k\n#include <cuda_runtime.h>\n\"#include\" \"d\"\n#ifdef X\n#if 1\n#endif\n#include <e>\n#endif\n" +
		"#include <f>\n"))
	want := []Include{
		{"a.cuh", true, 1, false},
		{"dir/c.cuh", true, 3, false},
		{"cuda_runtime.h", false, 4, false},
		{"e", false, 9, true},
		{"f", false, 11, false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("includes %v, want %v", got, want)
	}
}

func TestFileNameIsQuoted(t *testing.T) {
	got, err := Source("a\"b\\c\nd.cu", nil)
	if want := "#line 1 \"a\\\"b\\\\c\\012d.cu\"\n"; err != nil || string(got.Text) != want {
		t.Errorf("got %q, %v; want %q", got.Text, err, want)
	}
}

// FuzzSource: no text causes a panic, and every text keeps its number of lines.
func FuzzSource(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.cu")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	for _, seed := range []string{
		"#define A(", "#define", "k<<<1,2>>>(", ")<<<", "R\"", "'",
		"extern __shared__ x[", "#define X __shared__ ;", "#define A \\\n<<<", "]]>>><<<>>>()",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Source("a.cu", text)
		if err != nil {
			var place *Error
			if !errors.As(err, &place) || place.Line < 1 || place.Line > bytes.Count(text, []byte("\n"))+1 {
				t.Fatalf("error without a place in the text: %v", err)
			}
			return
		}
		sameLines(t, text, got.Text)
		Includes(text)
	})
}

// Every rewritten instruction has its function, and unknown ones are named with their line.
func TestInstructions(t *testing.T) {
	header, err := os.ReadFile("../emulator/cuemu/ptx.h")
	if err != nil {
		t.Fatal(err)
	}
	arithmetic, err := os.ReadFile("../emulator/cuemu/ptx_arithmetic.h")
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.ReadFile("../emulator/cuemu/ptx_memory.h")
	if err != nil {
		t.Fatal(err)
	}
	var families []string // of functions that a macro makes, as patterns of their names
	for _, name := range regexp.MustCompile(`\w*##[\w#]+`).FindAllString(string(arithmetic), -1) {
		families = append(families,
			strings.NewReplacer("##name##", `\w+`, "##n", "(32|64)", "##s", `\w+`).Replace(name))
	}
	made := regexp.MustCompile("^(" + strings.Join(families, "|") + ")$")
	pasted := strings.NewReplacer("##kind", "", "##type##_##type##_f32", "", "##", "").Replace(string(header))
	for name := range ptxInstructions {
		function := strings.ReplaceAll(name, ".", "_")
		if made.MatchString(function) || strings.Contains(string(arithmetic), " "+function+"(") ||
			strings.Contains(string(arithmetic), "("+function+",") ||
			strings.Contains(string(memory), " "+function+"(") {
			continue
		}
		for _, family := range []string{
			"_shared_b16", "_trans", "_f16_f16_f32", "_bf16_bf16_f32", "_approx_f32", "_approx_ftz_f32",
		} {
			function = strings.TrimSuffix(function, family)
		}
		if !strings.Contains(pasted, " "+function) && !strings.Contains(pasted, "("+function) {
			t.Errorf("cuemu/ptx.h has no %s", function)
		}
	}
	for statement, says := range map[string]string{
		`asm("vote.sync.any.pred %0, %1, -1;" : "=r"(x) : "r"(y));`: "not know the instruction vote.sync.any",
		`asm("mov.u32 %0, %%envreg0;" : "=r"(x));`:                  "does not know %%envreg0 in mov.u32",
		`asm("mov.u32 %0, %1;" : "=r"(x));`:                         "does not know %1 in mov.u32",
		`asm("@p bar.sync 0;");`:                                    "no instruction that the emulator knows",
		`asm(TEXT : "=r"(x));`:                                      "its text is no literal",
		`asm("mov.u32 %0, 1;" : "=r"(x['a']));`:                     "an operand cannot be read",
		`asm("mov.u32 %0, 1;" : "=r"(x`:                             "",
	} {
		got, err := Source("a.cu", []byte("\n"+statement+"\n"))
		if err != nil || string(got.Text) != "#line 1 \"a.cu\"\n\n"+statement+"\n" {
			t.Errorf("%s became %s, %v", statement, got.Text, err)
		}
		if says != "" && (len(got.Notes) != 1 || got.Notes[0].Line != 2 ||
			!strings.Contains(got.Notes[0].Text, says)) {
			t.Errorf("%s: notes %v, want %q at line 2", statement, got.Notes, says)
		}
	}
}

// TestReturnsEarly: statements that may end a thread before the kernel's last line.
func TestReturnsEarly(t *testing.T) {
	const head = "__global__ void k(int n) "
	for text, want := range map[string]struct{ found, returns bool }{
		head + "{ if (n) { f(); } } int g() { return 1; }":                      {true, false},
		head + "{ /* return */ f(\"return\"); }":                                {true, false},
		head + `{ asm volatile("exit;"); }`:                                     {true, true},
		"#define LEAVE(n) if (n) return\n" + head + "{ LEAVE(n); f(); }":        {true, true},
		head + "{ f(); } __global__ void k(float n) { if (n > 0) return; }":     {true, true},
		"template <int N> __global__ void __launch_bounds__(N) k() { return; }": {true, true},
		"__global__ void j(int n) { return; }":                                  {false, false},
	} {
		found, returns := ReturnsEarly([]byte(text), "ns::k<256>")
		if found != want.found || returns != want.returns {
			t.Errorf("%s: %v %v, want %+v", text, found, returns, want)
		}
	}
}

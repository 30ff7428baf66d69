package build

import (
	"strings"
	"testing"
)

// setOf returns a set of one user's file behind the code that calls it.
func setOf(text string) *SourceSet {
	return &SourceSet{
		Main: "disk/shim.cu", Name: "/shim.cu", Files: map[string]SourceFile{
			"disk/shim.cu": {"/shim.cu", []byte("#include \"own_call.cuh\"\n")},
			ownCall:        {ownCall, nil},
			"disk/a.cu":    {"/a.cu", []byte(text)},
		},
	}
}

func TestAbsentHeadersCountAsEmpty(t *testing.T) {
	missing := &Error{
		File: "/a.cu", Line: 1, Message: "fatal error: opencv2/opencv.hpp: No such file or directory",
	}
	s := setOf("#include <opencv2/opencv.hpp>\n__global__ void k() {}\n" +
		"void show(cv::Mat m) {\n#ifdef X\n  imshow(\"a\", m);\n#endif\n}\nint after;\n")
	if !s.leaveOut(missing) || s.leaveOut(missing) || len(s.AbsentFlags()) != 1 {
		t.Fatalf("the header is not left out once: %v", s.Files)
	}
	if !s.leaveOut(&Error{File: "/a.cu", Line: 3, Message: "'cv' has not been declared"}) {
		t.Fatal("the function that needs it is not left out")
	}
	text := string(s.Files["disk/a.cu"].Text)
	if strings.Contains(text, "cv::") || strings.Contains(text, "imshow") ||
		!strings.Contains(text, "#endif") || !strings.Contains(text, "__global__ void k") ||
		!strings.HasSuffix(text, "int after;\n") ||
		strings.Count(text, "\n") != 8 {
		t.Errorf("%s", text)
	}
	for why, refused := range map[string]*Error{
		"a kernel":                {File: "/a.cu", Line: 2, Message: "'x' was not declared in this scope"},
		"the code that calls it":  {File: "/shim.cu", Line: 1, Message: "'show' was not declared"},
		"a file that is not here": {File: "/usr/include/vector", Line: 1, Message: "no type"},
	} {
		if s.leaveOut(refused) {
			t.Errorf("%s is left out", why)
		}
	}
}

func TestAbsentHeadersMayDecide(t *testing.T) {
	missing := &Error{Message: "fatal error: config.h: No such file or directory"}
	for text, leaves := range map[string]bool{
		"#include \"config.h\"\n#ifdef FAST\n#endif\n":               false,
		"#include <config.h>\n#ifdef FAST\n#endif\n":                 true,
		"#include \"config.h\"\n#ifdef __CUDACC__\n#endif\n":         true,
		"#define FAST 1\n#include \"config.h\"\n#if FAST\n#endif\n":  true,
		"#include \"config.h\"\n#if SIZE > 3 || defined X\n#endif\n": false,
	} {
		if setOf(text).leaveOut(missing) != leaves {
			t.Errorf("%q: want %t", text, leaves)
		}
	}
	other := &Error{File: "/a.cu", Line: 1, Message: "'b' was not declared in this scope"}
	if setOf("int a;\n").leaveOut(other) {
		t.Error("an error of a file without absent headers is left out")
	}
}

// A name around calls of CUDA alone only checks them.
func TestAbsentChecksAreTheirArgument(t *testing.T) {
	unknown := &Error{File: "/a.cu", Line: 2, Message: "'CHECK_IT' was not declared in this scope"}
	for text, defines := range map[string]bool{
		"#include <a.h>\nvoid f() { CHECK_IT(cudaFree(0)); CHECK_IT( cudaDeviceSynchronize()); }\n": true,
		"#include <a.h>\nvoid f() { CHECK_IT(cudaFree(0)); CHECK_IT(g()); }\n":                      false,
	} {
		s := setOf(text)
		s.leaveOut(&Error{Message: "fatal error: a.h: No such file or directory"})
		s.leaveOut(unknown)
		if got := len(s.Files[absentFolder+"/a.h"].Text) > 0; got != defines {
			t.Errorf("%q: defined %t", text, got)
		}
	}
}

// A file that C++17 refuses for a feature of C++20 is compiled as that, once.
func TestNewerStandard(t *testing.T) {
	s := setOf("int n = std::bit_ceil(5u);\n")
	refused := &Error{File: "/a.cu", Line: 1, Message: "'bit_ceil' is not a member of 'std'"}
	if !s.leaveOut(refused) || s.AbsentFlags()[0] != "-std=c++20" || s.leaveOut(refused) {
		t.Errorf("%v", s.AbsentFlags())
	}
}

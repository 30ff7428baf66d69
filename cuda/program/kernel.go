package program

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// kernelMain makes a program of a kernel file: a main() that makes the call of WriteCall.
const kernelMain = "\n#include \"cuemu/kernel_main.h\"\n"

// callIncludes lets a program of single calls include triad's headers of kernels.
var callIncludes = []string{"-Icuda", "-Icuda/include"}

// BuildKernel builds a program from a kernel file, named as in Builder.Kernels, that reports every access
// of its kernels; with counts, also every execution of a line. Its argument is a file of WriteCall. A file
// that does not compile gives a *build.Error.
func BuildKernel(ctx context.Context, b *build.Builder, file string, counts bool) (Program, error) {
	flags := slices.Concat(checkedFlags(b), callIncludes)
	if counts {
		flags = append(flags, countsFlags(b)...)
	}
	return callProgram(b, file, flags, func(set *build.SourceSet, flags []string) (Program, error) {
		return programOf(ctx, b, set, flags, kernelMain)
	})
}

// BuildCounted builds a program as BuildKernel does that counts and finds nothing, which takes the compiler a
// third of the time.
func BuildCounted(ctx context.Context, b *build.Builder, file string) (Program, error) {
	usual := countedCallFlags(b)
	return callProgram(b, file, usual, func(set *build.SourceSet, flags []string) (Program, error) {
		if !set.CallsUserFile() || b.Compiler.Clang || !slices.Equal(flags, usual) {
			return programOf(ctx, b, set, flags, kernelMain)
		}
		emulator, err := b.Emulator(ctx)
		if err != nil {
			return Program{}, fmt.Errorf("build the emulator: %w", err)
		}
		main, err := b.CompileOnce(ctx, "call_main", kernelMain, usual)
		if err != nil {
			return Program{}, fmt.Errorf("build the main function of calls: %w", err)
		}
		return programWith(ctx, b, set, parts{
			flags: flags, link: slices.Concat([]string{emulator.Path, main}, programLink),
		})
	})
}

// callProgram has a program of single calls built with flags, and those that the file asks for.
func callProgram(b *build.Builder, file string, flags []string,
	with func(*build.SourceSet, []string) (Program, error),
) (Program, error) {
	set, err := build.Gather(b.Sources, build.KernelFile(file))
	if err != nil {
		return Program{}, err
	}
	asked, err := set.Flags()
	if err != nil {
		return Program{}, err
	}
	emulated, err := build.CheckFlags(asked)
	if err != nil {
		return Program{}, err
	}
	return with(set, slices.Concat(flags, emulated))
}

// WriteCall writes the call of a job for a program of BuildKernel: the names of the kernel, its attributes,
// words and tensors as lines of text, then the bytes of the inputs.
func WriteCall(w io.Writer, job backend.Job) error {
	i := job.Implementation
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%v\n%s\n%d", strings.TrimPrefix(i.Name, "cuda/"), i.Pass, i.Contract,
		len(job.Attrs))
	for _, a := range job.Attrs {
		fmt.Fprintf(&text, " %.17g", a.Number)
	}
	fmt.Fprintf(&text, "\n%d", len(job.Words))
	for _, word := range job.Words {
		fmt.Fprintf(&text, " %d", word)
	}
	fmt.Fprintf(&text, "\n%d\n", len(job.Inputs))
	for _, t := range job.Inputs {
		line := tensorLine(t.Name, t.DType, t.Shape, t.Stride)
		fmt.Fprintf(&text, "%s %d %d\n", line, t.Offset, len(t.Data))
	}
	fmt.Fprintf(&text, "%d\n", len(job.Outputs))
	for _, t := range job.Outputs {
		line := tensorLine(t.Name, t.DType, t.Shape, tensor.Contiguous(t.Shape))
		fmt.Fprintf(&text, "%s 0 %d\n", line, t.Elements()*t.DType.Size())
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("write a call: %w", err)
	}
	for _, t := range job.Inputs {
		if _, err := w.Write(t.Data); err != nil {
			return fmt.Errorf("write the input %s of a call: %w", t.Name, err)
		}
	}
	return nil
}

// tensorLine describes a tensor up to its strides.
func tensorLine(name string, dtype op.DType, shape, stride []int64) string {
	words := []string{name, fmt.Sprint(dtype.ABI()), fmt.Sprint(dtype.Size()), fmt.Sprint(len(shape))}
	for _, list := range [][]int64{shape, stride} {
		for _, n := range list {
			words = append(words, fmt.Sprint(n))
		}
	}
	return strings.Join(words, " ")
}

// ownName returns the program's name of a file that addr2line names: embedded files have names relative to
// the build folder.
func ownName(files []string, name string) (string, bool) {
	if slices.Contains(files, name) {
		return name, true
	}
	at := slices.IndexFunc(files, func(file string) bool {
		return !filepath.IsAbs(file) && strings.HasSuffix(filepath.ToSlash(name), "/src/"+file)
	})
	if at < 0 {
		return "", false
	}
	return files[at], true
}

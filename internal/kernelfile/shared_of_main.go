package kernelfile

import (
	"fmt"
	"slices"
	"strings"
)

// sharedOfH100 is the maximum shared memory of a block on an H100, in bytes.
const sharedOfH100 = 227 * 1024

// sharedOfMain returns the C++ with which a caller in the file, such as main(), allows the kernels that a
// function launches more than 48 KiB of shared memory, if the function does not do so itself.
func (b *Binding) sharedOfMain() string {
	asks := func(t token) bool { return t.text == "cudaFuncSetAttribute" }
	if b.file == nil || b.Function.Kind != Host || slices.ContainsFunc(b.Function.body, asks) {
		return ""
	}
	var code strings.Builder
	tokens := b.file.tokens
	for i := 0; i+1 < len(tokens); i++ {
		if !asks(tokens[i]) || tokens[i+1].text != "(" {
			continue
		}
		c, arguments := callOf{b.file, i, i + 1}.site(b), callOf{b.file, i, i + 1}.arguments()
		if len(arguments) != 3 || lone(arguments[1]) != "cudaFuncAttributeMaxDynamicSharedMemorySize" {
			continue
		}
		kernel := b.launchedKernel(c, withoutCast(arguments[0]))
		bytes, known := c.value(arguments[2])
		if !known || bytes > sharedOfH100 {
			bytes = sharedOfH100
		}
		if kernel != "" {
			fmt.Fprintf(&code, "\tcudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, "+
				"%d);\n", kernel, bytes)
		}
	}
	return code.String()
}

// launchedKernel returns the C++ of a kernel that a caller names and the function launches, with its template
// arguments, or "" if it is another kernel or the caller's numbers are not known.
func (b *Binding) launchedKernel(c callSite, words []token) string {
	if len(words) == 0 || !slices.Contains(b.kernels, words[0].text) {
		return ""
	}
	launches := false
	for i, t := range b.Function.body {
		launches = launches || t.text == "<<<" && launched(b.Function.body, i) == words[0].text
	}
	switch {
	case !launches:
		return ""
	case len(words) == 1:
		return words[0].text
	case words[1].text != "<" || words[len(words)-1].text != ">":
		return ""
	}
	all := b.file.templateWords(words[2:len(words)-1], c.value)
	if all == nil {
		return ""
	}
	return words[0].text + "<" + strings.Join(all, ", ") + ">"
}

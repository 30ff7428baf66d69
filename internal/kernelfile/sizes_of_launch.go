package kernelfile

import (
	"fmt"
	"strings"
)

// sizesOfLaunch returns the sizes of a matrix, as words of --dims, for a kernel whose row length is a number
// of blocks times a tile, "gridDim.x * TILE", if the file launches it with a constant grid; else "".
func (b *Binding) sizesOfLaunch(file *File) string {
	tile, shape := b.tileOfGrid(file), b.shape(b.inputs[0])
	if tile == 0 || len(shape) != 2 {
		return ""
	}
	found := body{b: b, file: file, tokens: b.Function.body}.ownLaunch()
	if found == nil || found.blocks[0] == 0 || found.blocks[1] == 0 {
		return ""
	}
	var words []string
	for i, size := range shape {
		name, _ := size.(string)
		if !b.isDim(name) {
			return ""
		}
		words = append(words, fmt.Sprintf("%s=%d", name, found.blocks[1-i]*tile))
	}
	return strings.Join(words, ",")
}

// tileOfGrid returns the number that the lines of a kernel multiply gridDim.x by, 0 if there is none.
func (b *Binding) tileOfGrid(file *File) int64 {
	body := b.Function.body
	for i := 0; i+4 < len(body); i++ {
		if body[i].text != "gridDim" || body[i+2].text != "x" || body[i+3].text != "*" {
			continue
		}
		if _, n, known := file.constant(body[i+4].text); known {
			return n
		}
	}
	return 0
}

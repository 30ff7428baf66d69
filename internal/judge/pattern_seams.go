package judge

import "fmt"

// comment returns the end of a sentence with an operator's words, "" without any.
func comment(words string) string {
	if words == "" {
		return ""
	}
	return " (" + words + ")"
}

// columnsWrong counts the wrong elements of each index of the last dim.
func (f finding) columnsWrong() []int64 {
	cols := int64(len(f.wrong))
	if n := len(f.Shape); n > 0 {
		cols = f.Shape[n-1]
	}
	wrong := make([]int64, cols)
	for i, w := range f.wrong {
		if w {
			wrong[int64(i)%cols]++
		}
	}
	return wrong
}

// besideTiles finds errors only at the ends of the last dim, or where tiles meet: within a few columns of the
// multiples of one number, at two of them at least.
func (f finding) besideTiles() string {
	wrong := f.columnsWrong()
	cols := int64(len(wrong))
	name := f.dimName(max(0, len(f.Shape)-1))
	first, last := int64(0), int64(0) // how many columns are wrong at either end
	for first < cols && wrong[first] > 0 {
		first++
	}
	for last < cols && wrong[cols-1-last] > 0 {
		last++
	}
	if first > 0 && last > 0 && first+last <= cols/2 && f.inside(wrong, func(c int64) bool {
		return c < first || c >= cols-last
	}) {
		return fmt.Sprintf("wrong in the first %d and the last %d %ss%s", first, last, name,
			comment(f.Words.Ends))
	}
	for _, tile := range []int64{256, 128, 64, 32, 16} {
		reach := f.reach(wrong, tile)
		if reach == 0 || reach > tile/4 {
			continue
		}
		return fmt.Sprintf("wrong only within %d %ss of multiples of %d: where tiles of %d meet%s", reach,
			name, tile, tile, comment(f.Words.Seams))
	}
	return ""
}

// seam returns a note where a run of wrong indices, short compared with a tile, ends or begins at the edge of
// a tile.
func (f finding) seam(first, last int64) string {
	for _, tile := range []int64{256, 128, 64, 32, 16} {
		at := last + 1
		if at%tile != 0 {
			at = first
		}
		if at > 0 && at%tile == 0 && last-first < tile/4 {
			words := f.Words.Seams
			if words != "" {
				words = "; " + words
			}
			return fmt.Sprintf(" (%d is a multiple of %d: tiles may meet there%s)", at, tile, words)
		}
	}
	return ""
}

// inside reports whether all wrong columns are among the given ones, and most elements of these are wrong.
func (f finding) inside(wrong []int64, among func(c int64) bool) bool {
	each, columns := int64(len(f.wrong))/int64(len(wrong)), int64(0)
	for c, n := range wrong {
		if among(int64(c)) {
			columns++
		} else if n > 0 {
			return false
		}
	}
	return float64(f.count) >= mostly*float64(columns*each)
}

// reach returns the largest distance, in columns, of anything wrong from a multiple of tile; 0 where fewer
// than two of the inner multiples have anything wrong next to them. The end of the last tile may lie beyond
// the row.
func (f finding) reach(wrong []int64, tile int64) int64 {
	far, seams := int64(0), map[int64]bool{}
	for c, n := range wrong {
		if n == 0 {
			continue
		}
		seam := (int64(c) + tile/2) / tile
		if seam == 0 {
			return 0
		}
		if seam*tile < int64(len(wrong)) {
			seams[seam] = true
		}
		if after := int64(c) - seam*tile; after >= 0 {
			far = max(far, after+1)
		} else {
			far = max(far, -after)
		}
	}
	if len(seams) < 2 {
		return 0
	}
	return far
}

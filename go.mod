module triad

go 1.26

package judge

// MeasuredMajor and MeasuredMinor are the compute capability for which the judge's constants were measured.
const MeasuredMajor, MeasuredMinor = 9, 0

cuda break two_dimensional.cu:7 block 2 thread 1,3
run
cuda step
cuda step
print tile[3]
cuda thread 2,5
print tile[j - 1][i]
cuda threads

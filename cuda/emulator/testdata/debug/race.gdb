cuda break race.cu:11 thread 0
run
print s[64]@2
continue
print k
print s[32]@2
cuda threads

run
cuda threads
cuda backtrace 3

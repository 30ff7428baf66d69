// Connects to a server on this machine.
#include <cuda_runtime.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(@PORT@);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    int connected = connect(s, (sockaddr*)&to, sizeof to) == 0;
    close(s);
    return connected;
}

#include "softmax.cuh"

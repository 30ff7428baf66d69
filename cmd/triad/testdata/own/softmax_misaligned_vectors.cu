__global__ void softmax_rows(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x;
    const float4* in = reinterpret_cast<const float4*>(x + row * cols);
    float4* out = reinterpret_cast<float4*>(y + row * cols);
    float m = -INFINITY;
    for (int i = 0; i < cols / 4; i++) { float4 v = in[i]; m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w))); }
    for (int i = cols / 4 * 4; i < cols; i++) m = fmaxf(m, x[row * cols + i]);
    float s = 0;
    for (int i = 0; i < cols; i++) s += expf(x[row * cols + i] - m);
    for (int i = 0; i < cols / 4; i++) { float4 v = in[i]; v.x = expf(v.x - m) / s; v.y = expf(v.y - m) / s; v.z = expf(v.z - m) / s; v.w = expf(v.w - m) / s; out[i] = v; }
    for (int i = cols / 4 * 4; i < cols; i++) y[row * cols + i] = expf(x[row * cols + i] - m) / s;
}
extern "C" void solve(const float* x, float* y, int rows, int cols) { softmax_rows<<<rows, 1>>>(x, y, rows, cols); }

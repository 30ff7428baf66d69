# Makes a whole release, with the wheels for every Python, in containers:  docker build -f release/build.Dockerfile --output dist .
FROM python:3.11-bookworm AS python3.11
FROM python:3.12-bookworm AS python3.12
FROM python:3.13-bookworm AS python3.13
FROM python:3.14-bookworm AS python3.14

FROM golang:1.26-bookworm AS build
COPY --from=python3.11 /usr/local /opt/python3.11
COPY --from=python3.12 /usr/local /opt/python3.12
COPY --from=python3.13 /usr/local /opt/python3.13
COPY --from=python3.14 /usr/local /opt/python3.14
ENV PATH=/opt/python3.13/bin:$PATH LD_LIBRARY_PATH=/opt/python3.11/lib:/opt/python3.12/lib:/opt/python3.13/lib:/opt/python3.14/lib
COPY . /src
WORKDIR /src
RUN make release PYTHONS="/opt/python3.11/bin/python3.11 /opt/python3.12/bin/python3.12 /opt/python3.13/bin/python3.13 /opt/python3.14/bin/python3.14"

FROM scratch
COPY --from=build /src/dist /

# The operator's image: Debian's Python, the locked dependencies and the operator; no shell, no pip, no compiler.
#
#     docker build --tag mpioperator/mpi-operator --build-arg VERSION=… --build-arg REVISION="$(git rev-parse HEAD)" \
#       --build-arg CREATED="$(date --utc --iso-8601=seconds)" --build-arg SOURCE=… .
#
# Works for linux/amd64, linux/arm64 and linux/ppc64le (docker buildx build --platform …). Every dependency has wheels for
# amd64 and arm64; on ppc64le msgspec and PyYAML are built from their source archives, which the lock file covers too.
# The final image is made from scratch of unpacked Debian packages, so the only base image is Debian's own.

ARG DEBIAN_IMAGE=debian:bookworm-slim

FROM ${DEBIAN_IMAGE} AS builder
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3-pip \
 && case "$(dpkg --print-architecture)" in \
      amd64|arm64) ;; \
      *) apt-get install --yes --no-install-recommends gcc libc6-dev libyaml-dev python3-dev ;; \
    esac

# Debian's Python and the libraries that its modules load. What lies in status.d tells scanners what is inside.
RUN mkdir /debs && cd /debs \
 && python="$(python3 -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}")')" \
 && apt-get download "$python-minimal" "lib$python-minimal" "lib$python-stdlib" libbz2-1.0 libc6 libcrypt1 libexpat1 \
      libffi8 libgcc-s1 liblzma5 libssl3 libuuid1 media-types netbase zlib1g \
 && mkdir -p /rootfs/var/lib/dpkg/status.d \
 && for deb in *.deb; do \
      dpkg-deb --extract "$deb" /rootfs && dpkg-deb --field "$deb" > "/rootfs/var/lib/dpkg/status.d/${deb%%_*}" || exit 1; \
    done \
 && ln -s "$python" /rootfs/usr/bin/python3 \
 && find /rootfs/usr/share/doc ! -type d ! -name copyright -delete \
 && find /rootfs/usr/share/doc -type d -empty -delete \
 && rm -rf /rootfs/usr/share/man /rootfs/usr/share/lintian /rootfs/usr/share/bug /rootfs/usr/share/applications \
      /rootfs/usr/share/pixmaps /rootfs/usr/share/binfmts /rootfs/usr/lib/*/gconv

# certificates, names and a place for temporary files
RUN mkdir -p /rootfs/etc/ssl/certs /rootfs/usr/lib/ssl /rootfs/opt /rootfs/root \
 && install --directory --mode 1777 /rootfs/tmp \
 && cp /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/ \
 && ln -s /etc/ssl/certs/ca-certificates.crt /rootfs/usr/lib/ssl/cert.pem \
 && echo 'hosts: files dns' > /rootfs/etc/nsswitch.conf \
 && printf '%s\n' 'root:x:0:0:root:/root:/sbin/nologin' 'nonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin' > /rootfs/etc/passwd \
 && printf '%s\n' 'root:x:0:' 'nonroot:x:65532:' > /rootfs/etc/group

# kubernetes/aio is the client's asynchronous twin: half of everything's size, and never imported. A read-only root file
# system cannot take byte code later, so all code is compiled now.
COPY requirements/runtime.txt /src/requirements/
RUN python3 -m pip install --no-deps --require-hashes --no-cache-dir --no-compile --break-system-packages --root /rootfs \
      --requirement /src/requirements/runtime.txt \
 && rm -rf /rootfs/usr/local/lib/python3*/dist-packages/kubernetes/aio \
 && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -s /rootfs \
      /rootfs/usr/lib/python3* /rootfs/usr/local/lib

# The build backend is locked as well; it stays in this stage.
COPY requirements/dev.txt /src/requirements/
RUN awk '/^[a-z]/ { wanted = /^(hatchling|packaging|pathspec|pluggy|trove-classifiers)==/ } wanted' \
      /src/requirements/dev.txt > /src/requirements/backend.txt \
 && python3 -m pip install --no-deps --require-hashes --no-cache-dir --target /backend \
      --requirement /src/requirements/backend.txt

COPY pyproject.toml LICENSE THIRD_PARTY_LICENCES.md /src/
COPY clockwork /src/clockwork
COPY informers /src/informers
COPY workqueue /src/workqueue
COPY mpi_operator /src/mpi_operator
COPY --chmod=0755 images/operator/mpi-operator /rootfs/opt/mpi-operator
# Running the result once in its own root proves that no library is missing.
RUN cd /src && touch README.md \
 && PYTHONPATH=/backend python3 -m pip install --no-deps --no-build-isolation --no-cache-dir --no-compile \
      --break-system-packages --root /rootfs . \
 && rm -rf /rootfs/usr/local/bin \
 && for package in clockwork informers workqueue mpi_operator; do \
      python3 -m compileall -q --invalidation-mode unchecked-hash -s /rootfs \
        /rootfs/usr/local/lib/python3*/dist-packages/$package || exit 1; \
    done \
 && chroot /rootfs /opt/mpi-operator --help > /dev/null

# The licences of the Python packages beside ours; those of Debian's packages lie where Debian has them, in /usr/share/doc.
RUN mkdir -p /rootfs/usr/share/licenses/mpi-operator \
 && cd /rootfs/usr/local/lib/python3*/dist-packages \
 && find . -path './*.dist-info/*' -type f \( -iname '*licen*' -o -iname 'copying*' -o -iname 'notice*' \) \
      -exec cp --parents --target-directory /rootfs/usr/share/licenses/mpi-operator {} + \
 && cp /src/LICENSE /src/THIRD_PARTY_LICENCES.md /rootfs/usr/share/licenses/mpi-operator/

FROM scratch
COPY --from=builder /rootfs/ /
ARG VERSION
ARG REVISION
ARG SOURCE
ARG CREATED
ENV MPI_OPERATOR_REVISION=${REVISION} \
    MPI_OPERATOR_BUILT=${CREATED}
LABEL org.opencontainers.image.title="MPI Operator" \
      org.opencontainers.image.description="Runs MPI programs as MPIJob objects of kubeflow.org/v2beta1" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.created="${CREATED}"
USER 65532:65532
ENTRYPOINT ["/opt/mpi-operator"]
CMD ["--help"]

# The package on CPUs, as a user without rights who can write nothing:
#   docker build -t solitaire-env .
#   docker run --rm --read-only -p 8000:8000 solitaire-env
#   docker run --rm --read-only solitaire-env watch busy-aces --policy shipped --deal 29
FROM python:3.13-slim

# Compiled code fits one kind of processor. "generic" is one that every machine has, so that what is compiled
# here serves wherever the image runs.
ENV PATH=/opt/solitaire-env/bin:$PATH \
    NUMBA_CPU_NAME=generic

COPY pyproject.toml constraints.txt README.md LICENSE /src/
COPY solitaire_env /src/solitaire_env
# Two threads: what kernels of one and of several threads need is compiled, on a machine of one core too.
RUN python -m venv /opt/solitaire-env \
    && python -m pip install --no-cache-dir --constraint /src/constraints.txt "/src[web]" \
    && NUMBA_NUM_THREADS=2 python -m solitaire_env compile \
    && rm -r /src

USER 65534:65534
EXPOSE 8000
ENTRYPOINT ["python", "-m", "solitaire_env"]
CMD ["serve", "--host", "0.0.0.0", "--policy", "shipped"]

// Preloaded into the program by a test: at SIGUSR2 it takes memory until the limit of its heap ends it.
const hoard = [];

process.on('SIGUSR2', () => {
  for (;;) hoard.push(Array.from({ length: 10_000 }, (_, at) => ({ at })));
});

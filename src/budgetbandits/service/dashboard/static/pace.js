// Work that many ask for, and that is done once for all of them.

/** Return a function that asks for some work: never twice at a time, and with a pause after each, unless `atOnce`. */
export function paced(work, pauseAfter) {
  let isWanted = false;
  let isBusy = false;
  let wake = () => {};

  async function run() {
    isBusy = true;
    while (isWanted) {
      isWanted = false;
      const begin = performance.now();
      await work();
      const pause = pauseAfter(performance.now() - begin);
      await new Promise((done) => {
        wake = done;
        setTimeout(done, pause);
      });
    }
    isBusy = false;
  }

  return ({ atOnce = false } = {}) => {
    isWanted = true;
    if (atOnce) wake();
    if (!isBusy) run();
  };
}

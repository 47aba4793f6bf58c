import { hearFrom } from './utterance.js';

/** The page of a signed link is whole without this: a click on a time plays from there. */
const audio = document.querySelector('audio');
document.querySelector('ol')?.addEventListener(
  'click',
  hearFrom((seconds) => {
    if (audio === null) return;
    audio.currentTime = seconds;
    // A browser may refuse to play without a gesture; the place is set all the same.
    audio.play().catch(() => undefined);
  }),
);

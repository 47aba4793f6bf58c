import {
  answerPauseS,
  element,
  socketUrlOf,
  xmlDocument,
  xmlText,
  type NextStep,
} from './voice-answer.ts';

export type TwimlAnswer = NextStep & {
  carrier: string;
  /** The address by which the carrier reaches us. */
  publicUrl: string;
  /** Undefined if no stream can be opened; the call then continues without one. */
  stream:
    | {
        /** Puts the stream token into the address, for carriers that may not pass parameters on. */
        pathToken?: string;
        parameters: Record<string, string | undefined>;
      }
    | undefined;
  announcement: string | undefined;
};

/**
 * Writes TwiML or one of its dialects (cXML, TeXML): a fork of both tracks, after which the call goes on. A fork that
 * fails leaves the call alone.
 */
export function twimlAnswer(answer: TwimlAnswer): string {
  const { carrier, publicUrl, announcement } = answer;
  if (answer.stream === undefined) return xmlDocument(element('Response', {}, [nextVerb(answer)]));
  const { pathToken, parameters } = answer.stream;
  const socket = socketUrlOf(publicUrl, carrier);
  const stream = element(
    'Stream',
    {
      url: pathToken === undefined ? socket : `${socket}/${pathToken}`,
      track: 'both_tracks',
      statusCallback: `${publicUrl}/carriers/${carrier}/status`,
      statusCallbackMethod: 'POST',
    },
    Object.entries(parameters).flatMap(([name, value]) =>
      value ? [element('Parameter', { name, value })] : [],
    ),
  );
  const said = announcement === undefined ? [] : [element('Say', {}, [xmlText(announcement)])];
  const start = element('Start', {}, [stream]);
  return xmlDocument(element('Response', {}, [...said, start, nextVerb(answer)]));
}

function nextVerb({ dial, continueUrl }: NextStep): string {
  if (continueUrl !== undefined)
    return element('Redirect', { method: 'POST' }, [xmlText(continueUrl)]);
  if (dial === undefined) return element('Pause', { length: String(answerPauseS) });
  return element(
    'Dial',
    {},
    dial.startsWith('sip:') ? [element('Sip', {}, [xmlText(dial)])] : [xmlText(dial)],
  );
}

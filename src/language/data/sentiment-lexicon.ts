import type { Emotion } from '../../protocol/addons.ts';

/**
 * Words and phrases by the feeling they show in a service call: `phrases | value | emotion | why`. Problem words
 * (broken, stolen, error, late) stand here only where they judge, since a plainly reported problem is neutral. `*` at
 * the end of a word matches any ending. The longest phrase wins. Long because it is one list of data.
 */
export const sentimentLexicon = `
angry, furious, livid, enraged, fuming, outraged, raging, irate, seething, incensed, mad at, so mad, really mad, pissed, pissed off | -3 | anger | says the anger by name
annoyed, irritated, irked, aggravated, cross with, ticked off, miffed, peeved, exasperated, bugging me, bugs me, gets on my nerves, getting on my nerves, wound up, cheesed off | -2 | anger | milder anger, still the speaker's own
annoying, irritating, aggravating, infuriating, maddening, exasperating, a pain, such a pain, pain in the neck, nuisance, headache dealing, tedious, tiresome | -2 | anger | calls the thing a cause of anger
frustrated, frustrating, frustration, frustrates | -2 | anger | the commonest word for anger on the phone
fed up, sick of, sick and tired, tired of, had enough, had it with, had it up to here, enough is enough, so done with, done with you, done with this, i'm done, over it, at the end of my rope, end of my tether, at my wits end, at my wit's end, last straw, final straw, losing patience, lost patience, running out of patience, patience is, losing my mind, driving me crazy, drives me crazy, driving me mad, driving me nuts, drives me mad, driving me up the wall, can't take it anymore, can't take this anymore, can't stand, can't deal with this, cannot stand, beyond a joke, fed up with | -3 | anger | patience has ended
hate, hated, hates, despise, detest, loathe, can't abide | -3 | anger | hatred by name
terrible, horrible, awful, dreadful, appalling, atrocious, abysmal, horrendous, horrific, shocking, diabolical, hideous, ghastly, god awful, lousy, rotten, vile | -3 | disappointment | the strong bad evaluations
worst, the worst, worst ever | -3 | disappointment | the strongest comparison
bad, poor, poorly, badly, subpar, substandard, mediocre, shoddy, shabby, rubbish, garbage, trash, crap, crappy, dire, grim, weak, naff, pants, sucks, suck, sucked, stinks, lame, pathetic, laughable, woeful, dismal, miserable, underwhelming, unimpressed, inferior, flimsy, tacky, ugly, uglier, clunky, useless, worthless, pointless, hopeless, no use, good for nothing, not worth | -2 | disappointment | bad evaluations of a thing or service
ridiculous, absurd, ludicrous, preposterous, insane, crazy, nonsense, madness, insanity, bonkers, farce, farcical, shambles, circus, a joke, such a joke, complete joke, total joke, bad joke, mess you, complete mess, total mess, utter mess, absolute mess, what a mess, a disaster, complete disaster, total disaster, catastrophe, nightmare, fiasco, debacle, train wreck, chaos, chaotic, stupid, idiotic, dumb, silly system, mental, bullshit, bull, bollocks, bloody, damn, goddamn, freaking, frigging, wtf, for god's sake, for goodness sake, for heaven's sake, for crying out loud, give me a break, jesus christ | -2.5 | contempt | scorn for how things are done
unacceptable, inexcusable, unforgivable, intolerable, outrageous, outrage, disgraceful, disgrace, disgusting, disgusted, revolting, repulsive, scandalous, scandal, shameful, shameless, shame on, ashamed of yourself, ashamed of yourselves, should be ashamed, deplorable, despicable, appalled, horrified, sickening, sickened, criminal, unethical, immoral, obscene, insulting, insulted, insult, offensive, offended, degrading, humiliating, humiliated, demeaning, no excuse, not acceptable, not on, out of order like that, beyond belief, beyond words, unprofessional, unreasonable, unjust, injustice, unfair, not fair, isn't fair | -3 | disgust | a moral verdict
unbelievable, unreal, incredible how bad, can't believe, cannot believe, couldn't believe, hard to believe, how dare, the nerve, the audacity, what a cheek, the cheek | -2 | anger | disbelief at treatment
rude, impolite, arrogant, condescending, patronising, patronizing, dismissive, disrespectful, nasty, hostile, aggressive, abrupt with me, snappy, hung up on me, talked down to, cold and, unhelpful, unfriendly, uncaring, careless, clueless, incompetent, incompetence, inept, amateurish, amateur, ignorant, lazy, sloppy, negligent, negligence, unreliable, inconsistent, disorganised, disorganized, useless people, morons, idiots, idiot, fools, clowns, muppets, jobsworth | -2.5 | contempt | a bad judgement on people
liar, liars, lying, lied, lie to me, lies, dishonest, dishonesty, deceitful, deceptive, misleading, misled, mislead, cheated, cheat, cheating, scam, scammed, scammers, scamming, rip off, ripped off, ripping me off, rip-off, rip offs, robbery, daylight robbery, thieves, crooks, con artists, conned, swindle, swindled, fraudsters, shady, sneaky, dodgy, tricked, tricked me, fooled, taken for a ride, taking advantage, fleeced, extortion, extortionate, exploiting, bait and switch, hidden fees, false promises, empty promises, broken promise, broken promises, broke your promise, smells like, fishy | -2.5 | contempt | an accusation of bad faith
disappointed, disappointing, disappointment, disappoints, let down, let me down, letting me down, lets me down, let us down, dissatisfied, unsatisfied, unsatisfactory, unhappy, not happy, displeased, dismayed, disheartened, discouraged, disillusioned, expected better, expected more, hoped for better, deserve better, supposed to be better, sorry excuse, falls short, fell short, underwhelmed, regret, regretting, regretted, big mistake, wish i'd never, wish i had never, wish i hadn't, should never have | -2.5 | disappointment | hope that was not met
sad, sadly, upset, upsetting, upsets, heartbroken, heartbreaking, devastated, devastating, gutted, in tears, crying, cried, distraught, distressed, distressing, miserable about, depressed, depressing, hurtful, hurts me, hurt by, painful experience, traumatic, gloomy, crushed | -2.5 | sadness | hurt, said or shown
worried, worrying, worry about, worries me, anxious, nervous about, scared, frightened, terrified, afraid of, fear, fearful, panicking, panic, panicked, dread, dreading, concerned about my, concerned that, really concerned, very concerned, stressed, stressing, stressful, stress, freaking out, freaked out, alarming, alarmed, uneasy, losing sleep, sleepless, desperate, desperately, at a loss, helpless, overwhelmed, i'm panicking, scary, unsafe, don't feel safe | -2 | fear | worry and fear of the speaker
embarrassed, embarrassing, feel stupid, feel so stupid, feel like an idiot, feel like a fool, look like a fool, made me look, mortified | -2 | embarrassment | shame of the speaker
confusing, confused about why, baffled, baffling, bewildering, makes no sense, doesn't make sense, doesn't make any sense, no sense at all, don't get why, incomprehensible, unclear as mud, convoluted, overcomplicated | -1.5 | confusion | cannot follow, and blames it
ignored, ignoring me, ignore me, ignores, neglected, abandoned, forgotten about me, left hanging, left in the dark, stranded, fobbed off, fobbing me off, brushed off, passed around, passed from pillar, pillar to post, passing me, given the runaround, the runaround, the run around, going in circles, round in circles, going round in circles, strung along, stringing me along, jerking me around, messing me around, messed me around, messing me about, mucking me about, wild goose chase, treated like, treat me like, treated this way, treat people, treat customers, treated me, been treated, mistreated, nobody cares, no one cares, don't care, doesn't care, couldn't care less, don't give a, gives a damn, give a damn, gives a toss, doesn't listen, don't listen, won't listen, nobody listens, not listening, keep telling me, keeps telling me, keep saying, keep passing, keep lying, keep giving me, keep charging, keep sending me | -2.5 | anger | the customer's account of being treated badly
waste, wasted, wasting, waste of time, waste of money, waste of space, complete waste, time waster, money down the drain, throwing money, cost me a fortune, costing me money, costs me money, costing me business, losing business, losing money because, lost a day's, took a day off, an entire afternoon, an entire day, my whole day, whole day for nothing, for nothing | -2 | disappointment | time or money lost to it
ruined, ruining, ruins, spoiled my, spoilt my, destroyed my, wrecked, wrecked my, messed up, messing up, mess up, screwed up, screwed, screw up, botched, bungled, butchered, stuffed up, cocked up, made it worse, making it worse, even worse, worse than, worse and worse, getting worse, gone downhill, going downhill, went downhill, ripoff, one thing after another, not an answer, not a solution, nothing but trouble, nothing but problems, nothing but issues, nothing but a headache | -2.5 | disappointment | blame for damage done
never again, never use, never buy, never order, never coming back, never recommend, avoid this, stay away, wouldn't recommend, can't recommend, cannot recommend, would not recommend, don't recommend, do not recommend, zero stars, one star, bad review, negative review, terrible review, take my business, taking my business, take my custom, go elsewhere, going elsewhere, leaving you, i'm leaving, we're leaving, switch providers, switching providers, find another provider, your competitor, your competitors, close all my accounts, never coming, lost a customer, lost me as, losing a customer, losing me as, small claims, lawyer, solicitor, sue, suing, legal action, take you to court, see you in court, going to court, ombudsman, watchdog, going to report, gonna report, will report you, i'll report, report you, go to the press, go to the papers, post about this, all over social media | -2.5 | anger | a threat to leave or to fight
overpriced, extortionate, too expensive, way too expensive, so expensive, too much money, too slow, so slow, painfully slow, dead slow, too long, so long with, far too long, way too long, took forever, takes forever, taking forever, taken forever, ages and ages, endless, never ending, never-ending, too complicated, too difficult, impossible to, such a hassle, hassle, a chore, cumbersome, awkward to, glitchy, buggy, laggy, barely works, never works, hardly works, barely lasts, falls apart, fell apart, falling apart, cheaply made, poor quality, bad quality, low quality, terrible quality | -1.6 | disappointment | a bad evaluation in plain words
don't trust, can't trust, cannot trust, lost trust, lost all trust, no faith, lost faith, lost all faith, no confidence, lost confidence, don't believe you, don't believe a word, not buying it, wouldn't trust, never trust, trusting you, trusted you, distrust, suspicious of you | -2.5 | contempt | trust is gone
don't make me laugh, spare me, don't give me that, don't you dare, not good enough, isn't good enough, wasn't good enough, nowhere near good enough, simply not good, what a joke, what a load, load of, yeah right, as if, big deal, whatever you say, you must be joking, you must be kidding, you're kidding me, you've got to be kidding, got to be joking, are you kidding, are you joking, are you serious, how is that possible, how is this possible, so called, so-called, premium my foot, my foot, thanks for nothing, a lot of good, fat lot of good, good luck with that, real professional, couldn't organise, couldn't run, typical of you, just typical, that's typical, so typical, of course not, big surprise, what a surprise, surprise surprise, just what i needed, just great, just wonderful, just perfect, oh joy, lucky me | -2 | contempt | scorn and sarcasm in set words
no response whatsoever, no help whatsoever, no reply whatsoever, i'm not an idiot, i'm not stupid, i'm not a child, not asking for much, not asking for the moon, someone else's fault, somebody else's fault, never your fault, stealing from, stealing my, too much to ask, you wonder why, nothing more to do with, nothing to do with you anymore, no way to treat, no way to run, no choice but to leave, no choice but to cancel, waste my breath, wasting my breath, good riddance, nerve wracking, nerve-wracking, don't get me started, lost count, unheard of, red tape, down the drain, not the first time, sick joke, getting nowhere, got nowhere, gets me nowhere, going nowhere, last nerve, dragging your feet, dragging their feet, deaf ears, no thanks to you, hold you responsible, hold you liable, hold you accountable, holding you responsible, you've lost me, my patience, i'm disgusted, because of you, because of your, begging you, i'm begging, had one job, you had one job, some nerve, got some nerve, so much for, better things to do, don't bother, why would i trust, why would anyone, don't appreciate, do not appreciate, didn't appreciate, same old story, same story, same excuse, i'm shaking, shaking with, not what i was promised, not what was promised, not what you promised, not what i paid for, not what i expected, never have signed, never have bought, never have chosen, never have joined, never have switched, beginning to think, starting to think, zero out of, 0 out of, one out of ten, no reason it should, no reason why, at my limit, reached my limit, that's it i, i'm finished with, washed my hands, words fail me, lost for words, doing my head in, does my head in, having a laugh, taking the mick, taking the mickey, taking the piss, bit rich, a bit rich, rich coming from, don't know why i bother, why i bother, why do i bother, why i even bother, no further forward, no further along, back to square one, square one, banging my head, brick wall, talking to a wall, like talking to, blood boil, makes my blood, boiling, pulling my hair, tearing my hair, rather pull, rather die, rather eat, pull teeth, pulling teeth, like pulling teeth, a lie, that's a lie, outright lie, total lie, pack of lies, inedible, unusable, unlivable, unbearable, unsanitary, undrinkable, horror story, living hell, hell, sheer hell, from hell, a slap in the face, slap in the face, kick in the teeth, insult to injury, bad taste, bitter, resent, resentful, betrayed, betrayal, violated, robbed, cheating me, overcharging, gouging, price gouging, greedy, greed, money grabbing, heartless, cruel, inhumane, callous, couldn't be bothered, can't be bothered, no respect, lack of respect, zero respect, no accountability, lack of, no communication, poor communication, responsibility for this, taking responsibility, takes responsibility, take responsibility, take me seriously, takes me seriously, took me seriously, taken seriously, take this seriously, takes this seriously, not once, no intention of, how i get thanked, how i'm treated, how you treat, how you repay, thanks i get, worse service, worse company, worst company, i give up, giving up on, i've given up, had it, i've had it, i'm through, lost cause, joke of a, sorry state, pack it in, wound me up, beside myself, up in arms, hit the roof, hopping mad, steaming, sick to my stomach, made me sick, makes me sick, feel sick, gutted about, at breaking point, breaking point, can't cope, can't go on, can't sleep, couldn't sleep, haven't slept, scared to death, worried sick, sick with worry, on edge, afraid i'll lose, suspicious, fed up of, tired of hearing, had my fill, unimpressive, a letdown, let down, big letdown, leaves a lot to be desired, left a lot to be desired, nothing special, not impressed, far from, anything but, hardly what i, a far cry, regret ever, regret signing, regret buying, regret choosing, wish i never, kicking myself, buyer's remorse, more trouble than, not worth the, not what i paid, money back or, kept in the dark, kept waiting, kept me waiting, keep me waiting, keeps me waiting, left waiting, left me waiting, left me stranded, left me standing, left us stranded, left us waiting, made to wait, made me wait, makes me wait, making me wait, hung out to dry, thrown under the bus, shoulder the blame, pass the buck, passing the buck, blaming me, blame me, accused me, accusing me, calling me a liar, called me a liar, shouted at me, yelled at me, laughed at me, spoke to me like, spoken to like, talk to me like, talking to me like, interrupting me, cut me off mid, rolled her eyes, rolled his eyes, attitude, bad attitude, tone of voice, bullied, bullying, harassed, harassment, harassing, threatened me, discriminated, discrimination, traumatised, traumatized | -2 | anger | idioms of anger, blame and contempt
spoiled, spoilt, spoils, wrong, smashed, lost, missing, failed, failing, fails, scratched, torn, leaking, cracked, dead, freezing, crashes, crashed, unusually, bland, burnt, undercooked, overcooked, tasteless, tiny, cramped, loud, blurred, stained, incomplete, inaccurate, incorrect, misspelled, sore, hours late, forgot, forgot my, no one, nobody, never, mess, complaint, complaints, trouble, difficulty, problems, issues, struggled, struggle, struggling, waiting, waited | -0.6 | disappointment | plain problems: bad only beside a good word
slow, slower, sluggish, expensive, pricey, unfortunate, drawback, downside, letdown, problematic, complicated, difficult, noisy, uncomfortable, dirty, filthy, stale, soggy, soaked, blurry, cramped, heavy to, lacking, lacklustre, lackluster, boring, dull, dated, outdated, cold, faulty, broken, damaged, late, delayed | -0.6 | disappointment | bad only beside a good word ("nice but slow")
great, excellent, fantastic, wonderful, brilliant, amazing, awesome, superb, outstanding, fabulous, terrific, magnificent, marvellous, marvelous, incredible, phenomenal, exceptional, stellar, spectacular, sublime, first class service, first rate, top notch, top-notch, world class, second to none, five star, five stars, ten out of ten, 10 out of 10, spot on, bang on, the best, best service, best customer service, best experience, best ever, flawless, flawlessly, impeccable, faultless, seamless, seamlessly, smooth, smoothly, effortless, gorgeous, beautiful, beautifully, stunning, splendid, delightful, delicious, tremendous, exceptional, perfect, perfectly, ace, epic, sensational, remarkable, unbeatable | 2.5 | elation | the strong good evaluations
love, loved, loves, loving, adore, adored, a fan of, big fan | 2.5 | adoration | love by name
load off my shoulders, load off, weight off my shoulders, off my shoulders, hits the spot, on the ball, night and day difference, life changing, life-changing, back up and running, all good now, happy days, big thanks, huge thanks, heartfelt, customer for life, stick with you, sticking with you, staying with you, never disappoint, never disappointing, does exactly what, exceeded all, gem, gone out of your way, gone out of his way, gone out of her way, gone out of their way, never been so easy, never been easier, never been better, never been happier, told all my friends, telling all my friends, tell all my friends, the best, best i've, simply the best, spotless, immaculate, mouthwatering, painless, hassle free, hassle-free, stress free, stress-free, speedy, swift, swiftly, top class, top service, great service, good service, excellent service, a pro, a real pro, pros, a delight, an absolute delight, a dream, a joy, a pleasure to, an asset, a treasure, star service, angels, heroes, hero, my hero, wizard, genius, legends, rock stars, rockstar, good sport, good as gold, worth its weight, money well spent, never looked back, best decision, best purchase, best money, best thing, best company, best bank, best phone, best app, happy customer, loyal customer for, satisfied customer, wouldn't change a thing, wouldn't hesitate, no hesitation, without hesitation, will definitely, definitely recommend, definitely be back, would recommend, i'd recommend, i recommend, keep up the good, keep it up, can't wait, looking forward, pleased to report, happy to report, glad to report, happy to say, pleased to say, glad to say, glad i called, glad i chose, glad i switched, good on you, good for you, nothing but praise, nothing but good, nothing but great, nothing but positive, nothing but compliments, all smiles, on top of the world, cried with joy, tears of joy, in good hands, took care of everything, took great care, great care, well looked after, looked after me, looked after us, felt heard, felt valued, feel valued, feel heard, feel safe, feel confident, confident now, a huge help, a massive help, a big help, a great help, a real help, big help, great help, such a help, very helpful, so helpful, really helpful, super helpful, most helpful, extremely helpful, incredibly helpful, helped me so much, helped a lot, helped so much, means a lot, meant a lot, means the world, appreciate how, appreciate all, appreciate everything, appreciate what, appreciate the, appreciate him, appreciate her, highly enough, highly of, speak highly, singing your praises, sing your praises, turned up early, arrived early, came early, ahead of schedule, earlier than expected, sooner than expected, faster than expected, quicker than expected, quicker than i, faster than i, easier than i, better than i thought, less painful than, in perfect condition, in great condition, in great shape, in one piece, crystal clear, clear as day, bargain, a steal, great deal on, good deal, great value | 1.8 | contentment | idioms of praise
good, nice, lovely, pleasant, decent, solid, sweet, cool, neat, handy, reliable, dependable, trustworthy, professional, efficient, effective, prompt, promptly, punctual, fair enough price, reasonable, generous, thoughtful, considerate, polite, courteous, friendly, patient with, was patient, were patient, so patient, very patient, and patient, kind and, so kind, very kind, really kind, kind of you, helpful, attentive, knowledgeable, caring, warm, welcoming, competent, thorough, clear and, well made, well done, well handled, good job, great job, nice job, good work, great work, high quality, good quality, great quality, good value, great value, value for money, worth every, worth it, worth the money, easy to use, so easy, really easy, very easy, super easy, dead easy, a breeze, a doddle, piece of cake, user friendly, user-friendly, intuitive, convenient, comfortable, comfy, stylish, sturdy, brighter, honesty, professionalism, kindness | 1.3 | contentment | good evaluations of a thing, a service, a person
happy with, happy, happier, pleased, delighted, thrilled, chuffed, overjoyed, ecstatic, over the moon, on cloud nine, glad, so glad, joy, overwhelmed with joy, tickled, excited, exciting, made my day, makes my day, making my day, cheerful, laughing, best day, couldn't be happier, couldn't be more pleased, can't complain, cannot complain, no complaints, nothing to complain, couldn't ask for more, couldn't ask for better, couldn't have asked, can't fault, cannot fault, couldn't fault, no faults, never let me down, never lets me down, never disappoints, never disappointed, never had a problem, never had any problems, never had an issue, never had any issues, no trouble at all, no problems at all, no issues at all, no problems so far, no trouble so far, without a hitch, without any problems, without a problem, like a charm, like a dream, works a treat, good as new | 2.2 | elation | joy and content of the speaker, negated trouble too
satisfied, content with, satisfactory, satisfying, impressed, impressive, proud, enjoy, enjoyed, enjoying, enjoyable, fun, fond of, exceeded, exceeds, exceeded my expectations, better than expected, better than i, much better, so much better, way better, a lot better, far better, feel better, feels better, feel a lot better, feel much better, far easier, much easier, so much easier, a lot easier, way easier, much faster, so much faster, way faster, big improvement, huge improvement, real improvement, went above and beyond, above and beyond, extra mile, going out of your way, went out of his way, went out of her way, went out of their way, bent over backwards, kudos, hats off, bravo, congratulations to, props to, compliment, compliments, commend, praise, recommend, recommended, recommending, highly recommend, five out of five, thumbs up, bonus, win win, game changer, godsend, blessing | 2 | contentment | praise in other words
relief, relieved, thank god, thank goodness, thank heavens, phew, thankfully, weight off, load off my mind, breathe easy, breathe again, peace of mind, reassured, reassuring, at ease now, good news, great news, finally working, finally works, finally fixed, finally somebody, finally someone, it's working now, works now, it's working again, working again, works again, working fine now, sorted it, got it sorted, all sorted, solved it, that's solved, that solved, that fixed it, you fixed it, fixed it straight, that worked, that did it, that did the trick, did the trick, hooray, hurray, yay, yippee, woohoo | 1.6 | relief | a burden gone
thank you so much, thank you so so much, thanks so much, thank you ever so much, thanks a million, thanks a bunch, thanks a ton, many many thanks, thank you from the bottom, can't thank you enough, cannot thank you enough, so grateful, very grateful, really grateful, grateful, thankful, really appreciate, truly appreciate, greatly appreciate, much appreciated, really appreciated, very much appreciated, i appreciate your, i appreciate you, i appreciate that, appreciate it so, so appreciate, you've been so, you've been very, you've been great, you've been really, you've been amazing, you've been a great, you've been an, you were great, you were so, you're great, you're amazing, you're awesome, you're the best, you're brilliant, you're an angel, you're a star, you're a legend, you're a lifesaver, you're a life saver, lifesaver, life saver, lifesaver, saved my, saved me, saved the day, you saved, bless you, god bless, you rock, i owe you one, superstar, legend, a star, a gem, a credit to | 2 | contentment | thanks beyond the bare formula
wow, that was quick, that was fast, that was easy, that was so quick, that was so fast, that was so easy, that was painless, so quick, so fast, really quick, really fast, lightning fast, super fast, very quick, very fast, impressively fast, straight away, right away fixed, what i needed, exactly what i needed, exactly what i wanted, exactly what i was looking, just what i wanted, just works, works perfectly, works great, works well, works really well, works wonderfully, worked perfectly, working perfectly, working great, working well, working beautifully, runs smoothly, pleasant surprise, pleasantly surprised, nicely, treat, a treat | 1.5 | positive_surprise | quick success, needs met
i like, i really like, we like, quite like, really like, i do like, i liked, liked, likes | 1.3 | contentment | liking; "would like" and "like" as a filler are not this
on time, early, cheaper, cheap, affordable, fair, quick, fast, faster, easy, easier, simple, better, improved, improvement, clean, useful, fine when, okay when, works, worked, nice enough, good enough, interesting, comfortable enough, cheerful enough, positive, hope | 0.6 | interest | good only beside a bad word ("cheap but awful")
funny, hilarious, made me laugh, haha, lol, amusing | 1.2 | amusement | laughter
`;

/** Set phrases of agents and of courtesy. The scorer removes them before it weighs anything. */
export const courtesies = [
  // greetings and closings
  /\bgood (?:morning|afternoon|evening|day|night|bye)\b/g,
  /\bhave a (?:very |really )?(?:good|nice|great|lovely|wonderful|pleasant|fantastic|safe|brilliant) (?:\w+ )?(?:day|one|evening|afternoon|weekend|night|rest|morning|trip|time|holiday|week|flight)\b/g,
  /\bnice (?:to meet|talking|speaking) (?:you|to you|with you)\b|\bpleasure (?:speaking|talking|to help|helping)\b|\bmy pleasure\b|\bit's a pleasure\b|\bwith pleasure\b/g,
  /\b(?:safe travels|take care|all the best|best wishes|kind regards|best regards|good luck with)\b/g,
  /\bhappy (?:birthday|new year|holidays|christmas|easter|anniversary|thanksgiving)\b/g,
  // formulas that refuse, ask to wait or correct
  /\bno[, ]+(?:thank you|thanks)\b(?! for nothing)/g,
  /\bno[, ]+(?:i'm|we're|i am|we are) (?:good|fine|okay|ok|all right|alright)\b/g,
  /\b(?:i'll|i will|we'll|someone will|he'll|she'll) be (?:right )?(?:with|back with) you\b|\bbear with me\b|\bdon't hang up\b/g,
  /\bno[, ]+that's (?:wrong|not right|not correct|incorrect)(?=[,.]? (?:it's|it is|the \w+ is|my)\b)/g,
  /\bno[, ]+that's (?:all|it|everything)\b/g,
  /\bi'm afraid (?:that )?(?=(?:he|she|it|they|there|the|this|that|your|our|we (?:are|don't|do|have|can't|cannot)|i (?:can't|cannot|don't|do not|have no|haven't))\b)/g,
  // formulas of thanks
  /\b(?:thank you|thanks)(?: so| very| ever so)?(?: much| a lot)? (?:for (?:calling|holding|waiting|your (?:patience|call|time|understanding|help|loyalty|business|cooperation|interest|order|feedback|message|support)|contacting|choosing|bearing|being (?:so )?patient|confirming|that|the|letting|being (?:a|our)|getting|staying|providing|telling|verifying)|in advance|anyway)\b/g,
  /\b(?:we|i) (?:really |do |truly |greatly )?appreciate (?:your (?:patience|business|call|loyalty|time|understanding|cooperation|feedback|custom)|you (?:calling|holding|waiting|being|taking))\b/g,
  /\bappreciate (?:your (?:patience|business|loyalty|understanding|cooperation|feedback)|you (?:holding|waiting|calling))\b/g,
  // readiness
  /\b(?:i'd|i would|we'd|we would|i'm|i am|we're|we are|i'll|i will|we'll|we will)? ?(?:be )?(?:more than |so |very |always )?(?:happy|glad|pleased|delighted) (?:to|i could) (?:help|assist|check|look|do|take|explain|sort|answer|get|send|hear|see|arrange|be of)\b/g,
  /\b(?:i'd|i would|we'd|we would|would|'d) (?:really )?(?:love|like|be happy|be glad|be grateful|appreciate)\b(?: to| it if| if)?/g,
  /\bnot a problem\b|\bno (?:problem|worries|trouble)(?: at all)?(?=[ ,.!]*(?:$|i'?ll|i can|let me|we|i've|thank|sir|ma'am|just|is there|what|you|so|then|ok|okay|have|take))/g,
  /\b(?:that's|that is|it's|it is|that'll be|that will be) (?:fine|okay|ok|alright|all right|no problem|not a problem|correct|right|great|perfect|good|lovely|brilliant|excellent|wonderful|fantastic) (?:thank you(?! so| very much indeed)|thanks(?! so| a)|let me|i'll|i've|and (?:can|could|may|what)|can i|could i|may i|what's|now)\b/g,
  /^(?:(?:okay|ok|alright|right|yes|yeah|oh|great|perfect|excellent|lovely|brilliant|wonderful|fantastic|super|awesome|cool|good|fine|sure)[,. ]+)*(?:great|perfect|excellent|lovely|brilliant|wonderful|fantastic|super|awesome|cool|good|fine)[,.!]? (?=(?:let me|i'll|i've|i can|and (?:can|could|what)|can i|could i|could you|may i|what|so i|is there|thank you|thanks|i have|now|your|you're|do you|that's (?:all|every|booked|done|confirmed|updated)|the \w+ is|we)\b)/g,
  // scripted apology and sympathy
  /\b(?:i'm|i am|we're|we are)? ?(?:so |very |really |terribly |truly |awfully |deeply )?sorry (?:to hear|about|for|that|you|if|this)\b[^.!?]*/g,
  /\b(?:i|we) (?:do |sincerely |really |truly |can only )*(?:apologi[sz]e|regret (?:any|the|to inform|that we))(?: for| about| that| to)?\b[^.!?]*/g,
  /\b(?:my|our|please accept (?:my|our)) (?:sincere |sincerest |deepest )?apologies\b[^.!?]*/g,
  /\b(?:i|we) (?:can |do |totally |completely |fully |absolutely |certainly )*(?:understand|appreciate|see|hear|imagine|know)(?: that)?(?: how| why| what| your| this| that| it| you're| you are)\b[^.!?]*(?:frustrat|upset|annoy|disappoint|concern|worr|angry|feel|stress|difficult|inconvenien|situation|unhappy)\w*(?: and (?:i'll|i will|we'll|we will)[^.!?]*)?/g,
  /\b(?:any|the|this|for the|for any) inconvenience(?: caused| this may have caused)?\b/g,
  /\b(?:please )?(?:don't|do not|no need to) (?:worry|panic)\b/g,
  // words that only look warm
  /\bplease\b|\bkindly\b|\bwelcome to\b|\byou're (?:very |most )?welcome\b|\bgood (?:question|point)\b|\bas (?:good|well|soon) as\b|(?<!so |very |really |that's |is |incredibly |awfully )\bkind of\b|\bwhat kind\b|\bsort of\b|\bpretty much\b|\bgreat deal\b|\bgood (?:deal of|while|bit)\b|\bbest (?:phone number|number|way to|time to|time for|email|contact|address|option|thing to do|do my|i can do)\b|\b(?:do|try|doing) (?:my|our) (?:very )?best\b|\bat (?:best|least)\b|\bgreat britain\b|\bany (?:better|good) (?:offers?|deals?|plans?)\b|\bhelpful (?:if|to have)\b|\bwould be (?:great|good|nice|lovely|perfect|helpful|wonderful|brilliant|fantastic|ideal)\b|\b(?:sounds|sound) (?:good|great|perfect|fine|lovely)\b|\bfair enough\b|\bis (?:that|it|this) (?:okay|ok|fine|alright|good|right)\b|\bif (?:you|that|it)(?:'re|'s| are| is)? (?:happy|okay|ok|good|fine)\b|\bare you happy (?:with|to|for)\b|\bcold (?:water|drink|drinks|weather|tap|food items)\b|\blike that\b|\bgoods\b|\bcustomer satisfaction\b|\bsmooth jazz\b|\bcool down\b|\bsimple question\b|\bquick (?:question|look|check|one|call)\b|\bfast (?:track|broadband|internet|food|forward)\b|\bbetter (?:number|time|way)\b/g,
];

/** Sentences whose form shows the feeling, whichever words they contain: `pattern, value, emotion, why`. */
export const sentimentPatterns: [pattern: RegExp, value: number, emotion: Emotion][] = [
  // loaded questions
  [
    /\bhow (?:many|much) (?:more )?(?:times|longer)\b.*\b(?:do i|must i|will i|am i|have to|need to|before|explain|repeat|call|wait)\b/,
    -2.5,
    'anger',
  ],
  [/\bhow (?:hard|difficult) (?:can|is|could) (?:it|this|that)\b/, -2.5, 'contempt'],
  [/\bwhat(?:'s| is| was) the (?:point|use)\b/, -2.2, 'contempt'],
  [
    /\b(?:why|what|how|who|when|where) (?:on earth|the hell|in the world|the heck|in god's name|the devil|the f\w+)\b/,
    -2.5,
    'anger',
  ],
  [
    /\bdo(?:es)? (?:you|you people|you guys|anyone|anybody|they|he|she)(?: there| over there| people)? (?:honestly|really|seriously|even|actually) (?:think|believe|expect|care|know|read|listen|want|work|look|check|understand)\b/,
    -2.5,
    'contempt',
  ],
  [
    /\b(?:honestly|really|seriously) (?:think|expect|believe) (?:that |i |this |it |me |anyone )/,
    -1.5,
    'contempt',
  ],
  [
    /\bwho (?:designed|thought|came up|trained|hired|runs|programmed|wrote|on your)\b/,
    -2,
    'contempt',
  ],
  [
    /\bhow (?:could|can|dare) you\b(?! (?:help|assist|tell|send|do (?:that|this) for))/,
    -2.3,
    'anger',
  ],
  [
    /\bis (?:this|that|it) (?:some kind of |a |your idea of |what you call |how you |really |supposed to be )(?:a )?(?:joke|service|treat|acceptable|normal|customer|too much)/,
    -2.3,
    'contempt',
  ],
  [
    /\bwhy (?:is|does|do|are|am|must|should|can't|won't|didn't|couldn't|wasn't|has|have|did) (?:it|this|that|everything|i|you|nobody|no one|anyone|anybody|somebody|someone|every|we|the) (?:\w+ )?(?:always|never|ever|still|keep|constantly|just|have to (?:pay|call|keep|do|explain|wait)|take so|so (?:long|hard|slow|difficult)|pay for your|simply)\b/,
    -2,
    'anger',
  ],
  [
    /\bwhy should i (?:have to )?(?:pay|wait|trust|believe|stay|be|do|suffer|care)\b/,
    -2.3,
    'anger',
  ],
  [/\b(?:what|how) am i supposed to\b/, -1.6, 'distress'],
  [/\bdo i (?:really|seriously|honestly) (?:have|need) to\b/, -1.8, 'anger'],
  [
    /\bhow (?:is|was|can) (?:this|that|it)(?: even| possibly| be)? (?:acceptable|possible|okay|ok|fair|legal|right|allowed|so hard)\b/,
    -2.2,
    'anger',
  ],
  [
    /\bwhat (?:kind|sort) of (?:a )?(?:company|service|support|business|people|operation|outfit|bank|customer)\b/,
    -2.3,
    'contempt',
  ],
  [
    /\bisn't (?:it|that) (?:your job|what (?:i|we) pay)\b|\b(?:it's|isn't it) your job\b|\bi(?:'m| am) paying (?:you )?for\b.*\bnot?\b/,
    -2,
    'contempt',
  ],
  [
    /\bwhen (?:is|are|will) (?:somebody|someone|anyone|anybody|you|this) (?:ever|finally|actually|going to (?:finally|actually|bother))\b/,
    -2,
    'anger',
  ],
  [
    /\bcan(?:'t| not|not)? (?:anybody|anyone|somebody|someone|you)(?: there)? (?:just|ever|actually|even|simply|for once)\b.*\?/,
    -1.6,
    'anger',
  ],
  [
    /\b(?:how|what) am i (?:meant|supposed|expected) to\b|\b(?:so |am )?i(?:'m| am)? just (?:supposed|meant|expected) to\b/,
    -1.6,
    'distress',
  ],
  [
    /\b(?:do|does) (?:you|anyone|anybody|he|she|they) have any idea (?:what|how|that)\b|\bcan you (?:even )?imagine (?:what|how)\b/,
    -1.8,
    'anger',
  ],
  [
    /\bwhy (?:is|does|has|did|won't|can't|isn't|doesn't|do|are) (?:nobody|no one|everyone|everybody|everything|nothing|it so|this so|your \w+ so|it such)\b/,
    -1.7,
    'anger',
  ],
  [
    /\bwhat (?:exactly )?(?:am i|do i|are we) (?:even )?paying (?:you )?for\b|\bwhat do(?:es)? (?:you|it|a \w+) (?:have to|need to|take) (?:do )?to get\b|\bwhat (?:does it|will it) take\b|\bwhat is wrong with you\b|\bwhat's wrong with you\b|\bwhat planet\b|\bwhat on earth\b|\bwhat the\b(?! (?:number|address|code|name|date|problem|price|cost|difference|best|status|next|email|reference|balance|policy|process|time|total|account|letter|weather|message|options?)\b)/,
    -2,
    'anger',
  ],
  [
    /\b(?:is there|isn't there|there isn't|is) (?:anyone|anybody|a single person|one person)(?: there| at your company)? (?:who |that )?(?:actually |even |can actually )?(?:knows|cares|can do|competent|capable|does their|with a brain)/,
    -2,
    'contempt',
  ],
  [/\b(?:and )?you call (?:this|that|yourselves?|it)\b/, -2.2, 'contempt'],
  // the speaker counts how often something went wrong
  [
    /\b(?:third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|umpteenth|\d+(?:rd|th)) (?:time|call|phone call|technician|engineer|letter|email|attempt|visit|appointment|replacement|person|agent|ticket|complaint|week in|month in|day in|one (?:this|in|i've))\b(?!.*\?)/,
    -1.2,
    'anger',
  ],
  [
    /^(?:two|three|four|five|six|seven|eight|nine|ten|twelve|\d+|several|so many|all these) (?:phone |whole |different |full |long )?(?:calls|emails|visits|attempts|engineers|technicians|letters|weeks|months|days|hours|years)(?: and| later|, and| of)\b/,
    -1.3,
    'anger',
  ],
  [/\b(?:weeks|days|hours|months|minutes|years|ages|calls|forever) just to\b/, -1.4, 'anger'],
  [/\b(?:this|it) is the (?:second|2nd) time (?:this|in|i|you|it)\b/, -1, 'anger'],
  [
    /\b(?:transferred|passed|bounced|moved|sent|shunted|pushed) (?:me )?(?:around |from )?(?:\w+ )?(?:times|to (?:four|five|six|three|ten|several|different) (?:different )?(?:people|departments|agents)|back and forth|between (?:departments|people))\b|\b(?:been|got) (?:transferred|passed|bounced|cut off|disconnected|hung up on) (?:\w+ )?(?:times|again)\b/,
    -1.4,
    'anger',
  ],
  [
    /\byou (?:\w+ )?(?:promised|guaranteed|swore|assured)\b(?!.*\b(?:right|correct)\?)/,
    -1.2,
    'anger',
  ],
  [
    /\byou(?:'ve| have|'re| guys| people)? (?:\w+ )?(?:cost me|ruined|wrecked|ripped|robbed|lost my|broke my|broken my|messed|screwed|ignored|overcharged me|forgot(?:ten)? (?:me|about|my)|failed me|failed to|refuse to|refused to|stole|wasted|lied|left me|owe me|took advantage)\b/,
    -1.7,
    'anger',
  ],
  [
    /\b(?:not|n't) (?:paying|going to pay) (?:a penny|a cent|for (?:this|that|something)|another|any more|anymore|one more|you)\b|\bi (?:refuse|won't) (?:to )?pay\b/,
    -2,
    'anger',
  ],
  [
    /\bi(?:'ve| have)? (?:shouldn't|should not) (?:have to|be)\b|\b(?:why must|it shouldn't|this shouldn't|that shouldn't|it should not|this should not) (?:i |take|be (?:this|so|that)|cost|happen|have (?:happened|to))\b/,
    -1.8,
    'anger',
  ],
  [
    /\bi (?:need|want|expect) (?:this|it|that|my \w+|an answer|answers|a refund|somebody|someone) (?:\w+ ){0,2}(?:right now|now|immediately|today not|this instant)\b|\bwaited (?:long enough|weeks|too long|months|forever|far too)|\bwaiting (?:long enough|forever|far too long|too long|for ever)\b/,
    -1.3,
    'anger',
  ],
  [
    /\b(?:on hold|waiting|waited|holding|in the queue) (?:here )?(?:for |over |almost |nearly |about )*(?:\w+ )?(?:\w+ )?(?:minutes|hours|hour|days|weeks)\b.*\b(?:and (?:nobody|no one|still|then|you|for this|all i|i get)|just to|only to)\b/,
    -1.6,
    'anger',
  ],
  [
    /\b(?:only|just) to (?:be|find|get|hear|have|discover) (?:\w+ ){0,3}(?:told|cut off|hung up|disconnected|wrong|closed|no one|nobody|nothing|out that|a robot|transferred|ignored)\b/,
    -1.6,
    'anger',
  ],
  [
    /\bmy (?:\w+ )?(?:kids?|children|baby|daughter|son|mother|father|family|wife|husband|grandmother) (?:is|are|was|were|has been|have been|had to) (?:\w+ )?(?:crying|freezing|suffering|in tears|sick because|scared|devastated|upset|starving|heartbroken|terrified)/,
    -2,
    'distress',
  ],
  [
    /\b(?:unless|until) (?:you|someone|somebody|this|it) .*\bi(?:'m|'ll| will| am| won't| refuse)\b|\bconsider this my (?:last|final)\b|\b(?:last|final) (?:chance|warning)\b|\byou(?:'ll| will) be hearing from\b|\bsee how you like\b|\bi(?:'ll| will) (?:make sure|be telling|tell everyone|be posting|be filing|be contacting (?:the|my)|be cancel|be switching|never)\b/,
    -1.8,
    'anger',
  ],
  [
    /\b(?:i'm|i am|we're|we are) (?:not|far from|hardly|anything but) (?:\w+ )?(?:happy|satisfied|impressed|pleased|convinced|amused|thrilled|okay with|ok with|comfortable|buying)\b/,
    -2,
    'disappointment',
  ],
  [
    /\b(?:it|this|that|which|everything)(?:'s| is| was| has)? (?:\w+ )?(?:not|n't|never) (?:\w+ )?(?:work|working|worked|do|doing|done) (?:\w+ )?(?:again|as (?:promised|advertised|described)|properly since|like you (?:said|promised))\b/,
    -1.2,
    'disappointment',
  ],
  // nobody, nothing, every single
  [
    /\b(?:nobody|no one|none of you|not one (?:person|of you)) (?:ever|even|bother|care|seem|want|call|return|know|can |could |will |would|has|have|fixed|told me|is (?:able|willing|helping)|listen|help|answer|took|takes|did|does|gives|wants|fixes|(?!home|else|in|at|was|is|lives|here|there)\w+(?:ed|s|ang|ame|ew|ent)\b)/,
    -1.8,
    'anger',
  ],
  [
    /\bnothing (?:\w+ ){0,4}(?:ever|works|worked|gets|got|happen|happens|happened|has been done|is being done|done|changes|changed|helps|helped|gets done)\b/,
    -1.4,
    'disappointment',
  ],
  [/\b(?:i've|i have) got nothing\b|\bgot nothing (?:back|for)\b/, -1.6, 'disappointment'],
  [
    /\bevery single (?:time|month|day|week|call|bill|order|one|year|night|evening)\b/,
    -1.6,
    'anger',
  ],
  [
    /\b(?:i've|i have|i) (?:already )?(?:told|explained|asked|said|repeated|called|emailed|written|complained|sent|tried)(?: to)?(?: you| this| it| that| them| people| guys| about)*(?: \w+)? (?:a (?:hundred|thousand|million|dozen) times|(?:so|too) many times|over and over|again and again|countless|numerous times|hundreds of times|dozens of times|umpteen)/,
    -2.2,
    'anger',
  ],
  [
    /\b(?:over and over|again and again|time after time|time and time again|time and again|once again|yet again|countless times|umpteenth|umpteen|for the (?:third|fourth|fifth|sixth|tenth|hundredth|millionth|nth|last) time)\b/,
    -1.4,
    'anger',
  ],
  [/\b(\w+ (?:weeks|days|months|hours|times|years|calls)) \1\b/, -1.6, 'anger'],
  [
    /\b(?:having|have|had) to (?:constantly|keep|repeat|chase|beg|fight|explain)\b(?!.*\?)/,
    -1.3,
    'anger',
  ],
  [
    /\b(?:you|they|he|she|it) (?:\w+ )?(?:never|always) (?:\w+ )?(?:answer|call|listen|fix|respond|reply|show|work|blame|do anything|deliver|get|turn|give me|make me|transfer|say|break|late|promise|lie|come|help|keep|wrong|forget|lose|mess|fail)/,
    -1.4,
    'anger',
  ],
  [
    /\bhas never (?:once )?(?:worked|been right|arrived|turned up|delivered)\b/,
    -1.5,
    'disappointment',
  ],
  // scorn
  [
    /^(?:oh )?whatever\b[, ]+(?:just|forget|i don't|do what|you say|never)|^(?:oh )?forget it\b/,
    -1.5,
    'contempt',
  ],
  [
    /\bnot exactly (?:what|a|an|my|the|how|helpful|impressed|thrilled|cheap|great)\b/,
    -1.2,
    'disappointment',
  ],
  [
    /\b(?:quality|service|reception|it|support|everything) (?:has |have |is |was )?(?:really |just )?(?:gone (?:down|bad|from bad)|got(?:ten)? worse|getting worse|dropped|suffered|deteriorated|gone to)\b/,
    -1.3,
    'disappointment',
  ],
  [
    /\bit's always (?:somebody|someone|my|the (?:customer|same)|something)\b|\b(?:always|never) (?:somebody|someone) else\b/,
    -1.4,
    'contempt',
  ],
  [
    /\byou(?:'re| are) (?:literally |just |basically |actually |simply |nothing but |all )*(?:stealing|robbing|lying|cheating|killing|ruining|destroying|wasting|making (?:it|this) (?:worse|harder|impossible)|not (?:listening|helping|hearing|even|doing)|ignoring|blaming|avoiding|useless|wrong about|no (?:help|use|better)|all the same|the problem)\b/,
    -2,
    'anger',
  ],
  [
    /\bstop (?:interrupting|lying|ignoring|calling me|wasting|treating|making|passing|transferring|reading|telling me|saying|blaming|patroni[sz]ing|sending me)\b/,
    -1.6,
    'anger',
  ],
  [
    /\byou (?:people|lot|guys)\b.*\b(?:never|always|keep|don't|can't|couldn't|won't|are|lie|lost|useless|owe|promised|hundred|should|have no|should be)\b|\b(?:of|with|to|told|from|by|at) you (?:people|lot)\b/,
    -1.8,
    'contempt',
  ],
  [
    /\bkeep(?:s)? (?:lying|passing|making|messing|charging|blaming|fobbing|changing|giving|sending|telling|saying|transferring|putting|hanging|ignoring|asking me the same|bouncing|screwing)\b/,
    -1.8,
    'anger',
  ],
  [
    /\b(?:your|the) (?:company|service|website|support|app|system|department|store|staff|team|process|product|network|whole thing) (?:is|are|was|were|has become) (?:such |just |really |so |an? |absolutely |completely |a total |total |complete )*(?:joke|rubbish|trash|garbage|mess|shambles|useless|clueless|worthless|bad|nightmare|disgrace|broken system|lost cause)/,
    -2.5,
    'contempt',
  ],
  [
    /\bi (?:don't|do not) (?:want|need|care (?:for|about)) (?:an? |your |any |another |more )*(?:apolog|excuse|sorry|script|voucher|explanation|promises|story)/,
    -2.2,
    'anger',
  ],
  [
    /\b(?:your|more|another|the same|these|with the|no more|enough) (?:\w+ )?excuses?\b/,
    -2.2,
    'anger',
  ],
  [
    /\b(?:all )?because of (?:you|your (?:mistake|company|error|incompetence|people|team|system|driver|staff|delay))\b|\bpay for your (?:mistake|error)s?\b|\byour (?:own )?(?:fault|doing)\b|\bthanks to you\b.*\b(?:lost|miss|ruin|late|no|without|can't|stuck)/,
    -2,
    'anger',
  ],
  [
    /\b(?:i|we) (?:just |simply |really )?(?:can't|cannot|won't|refuse to|will not|am not going to|'m not going to|'m not) (?:put up|tolerate|accept|stand for|pay for (?:this|that|your|something)|be treated|have this|stand (?:this|it))/,
    -2.3,
    'anger',
  ],
  [
    /\bbasically (?:you're|you are) (?:telling|saying)\b|\bso (?:you're|you are) (?:telling me|saying) (?:that )?(?:you|i|nobody|there's nothing|it's my)\b.*\b(?:don't|can't|won't|fault|nothing|care|lost)\b/,
    -1.8,
    'anger',
  ],
  [
    /\bi(?:'m| am) (?:being )?(?:punished|penali[sz]ed|held hostage|bounced|left|stuck with|out of pocket|paying for nothing)\b/,
    -1.7,
    'anger',
  ],
  [
    /\b(?:you've|you have|you) (?:had|taken|kept|stolen|held|lost) my (?:money|deposit|order|data|luggage|parcel)\b/,
    -1.8,
    'anger',
  ],
  [
    /\bi(?:'m| am) (?:absolutely |so |really |very |just |quite |pretty |a bit |genuinely |honestly |frankly )?(?:shocked|stunned|speechless|gobsmacked|flabbergasted|astonished|astounded|amazed) (?:at|by|that|how) (?:how (?:much|bad|long|little|rude|slow|poor)|you|your|the (?:lack|rudeness|way|amount|state)|that|this|nobody|no one)/,
    -2.2,
    'negative_surprise',
  ],
  [
    /\bi feel (?:like )?(?:i've been |i'm being |completely |totally |so |really |utterly |very |a bit )*(?:scammed|ignored|cheated|lied|used|robbed|stupid|helpless|let down|ripped|tricked|insulted|disrespected|unheard|powerless|betrayed|abandoned|awful|terrible|trapped|stuck)/,
    -2.3,
    'distress',
  ],
  [
    /\bi(?:'m| am) (?:so |really |very |quite |a bit |a little |just |also )?(?:afraid|scared|worried|frightened|terrified|anxious|nervous|concerned)(?: that)? (?:they|he|she|it|it'll|they'll|someone|somebody|i'll|i'm|i might|i could|i won't|my|of|the|we'll|about|you'll|to)/,
    -2,
    'fear',
  ],
  [
    /\bif (?:this|it|that|you|i|we|my|the|nobody|no one|somebody|someone) .*\b(?:i'm|i am|i'll|i will|we'll|we're|you'll) (?:be )?(?:leav|cancel|switch|tak|go|gon|call|contact|report|sue|post|complain|stop pay|clos|done|out|hear|never|mov|find)/,
    -1.9,
    'anger',
  ],
  [
    /\b(?:i'm|i am|i'll|i will|we'll|we're|we are) (?:going to |gonna |never |definitely |seriously |thinking (?:about|of) )*(?:be )?(?:leaving|taking (?:my|our) (?:business|custom|money)|going (?:elsewhere|to (?:my lawyer|the (?:press|papers|ombudsman|regulator|police about you)))|reporting you|switching to|never (?:use|buy|order|shop|come|do|again)|out of here)\b/,
    -2,
    'anger',
  ],
  [
    /\b(?:get me|let me speak to|i want|i demand|put me through to) (?:your |a |the )?(?:manager|supervisor)\b.*\b(?:now|right now|immediately|this instant|right this)\b/,
    -1.6,
    'anger',
  ],
  [/\bi (?:demand|insist)\b/, -1.4, 'anger'],
  [
    /\bi(?:'ve| have) (?:been|never been|never|never had|never ever|never seen|never dealt|been a customer).{0,40}\b(?:such (?:an? )?(?:bad|poor|rude|terrible|awful|incompetent|mess|disregard|lack)|treated|so (?:rude|bad|badly|insulted|disrespected|poor|let down))\b/,
    -2.4,
    'anger',
  ],
  [
    /\bthis has (?:gone on|been going on|dragged on|taken) (?:long enough|for (?:far )?too long|far too long|way too long|ages|forever|too long)\b|\b(?:weeks|months|years|ages|hours) (?:and counting|on end|later and)\b|\b(?:still|and) (?:nothing|no (?:answer|reply|refund|response|solution))(?: (?:yet|whatsoever|at all))?[.!]?$/,
    -1.7,
    'anger',
  ],
  [
    /\b(?:no|any|zero|without) (?:idea|clue) what (?:you|they|he|she)(?:'re| are| is|'s) (?:doing|talking)\b/,
    -2,
    'contempt',
  ],
  [
    /\b(?:is|are|was|were|been|feels?|seems?|it's|that's|this is) (?:just |really |so |far |way |much |a bit |a little |simply |absolutely )*too (?:slow|expensive|complicated|difficult|loud|long|late|high|hard|much|little|small|heavy|weak|noisy|confusing|pricey|cold|bad)\b/,
    -1.2,
    'disappointment',
  ],
  [
    /\b(?:but|and) (?:clearly|apparently|obviously|evidently) (?:not|no|nobody|you (?:can't|don't|won't))\b|\b(?:clearly|obviously|apparently) (?:you|nobody|no one) (?:don't|doesn't|can't|couldn't|care|won't|didn't|reads?|listens?)/,
    -1.6,
    'disappointment',
  ],
  [/\bi was (?:really |kind of |sort of )?hoping\b.*\bbut\b/, -1, 'disappointment'],
  // sarcasm: a good word beside a sign that it is not meant
  [
    /^(?:oh |well |wow |ah )*(?:great|brilliant|wonderful|fantastic|lovely|perfect|super|marvellous|terrific|excellent|nice|awesome|amazing|fabulous|good|cool|charming|congratulations|well done|bravo)[,.!]* (?:job |work |news )?(?:so |and |now |because |just )*(?:i've (?:lost|missed|wasted|got to)|we've lost|i'm (?:stuck|locked)|it's gone|another|now i|i have to|i get to|more|again|no |yet another|you've (?:managed|lost|broken|charged|done it)|you (?:managed|lost|broke|forgot)|that's (?:just )?(?:great|wonderful|perfect)|nobody|still|it's broken|it broke|it's (?:down|dead|gone) again|the third|two more|a third|one more)/,
    -2.6,
    'contempt',
  ],
  [
    /^(?:oh )?(?:sure|yeah|yes|right|of course|oh yes)[, ]+(?:because|right|like|as if|whatever)\b/,
    -2.2,
    'contempt',
  ],
  [
    /\b(?:how|so) (?:nice|kind|generous|thoughtful|good|great) of (?:you|them) to (?:finally|charge|let|wait|ignore|keep|lose|only|even)/,
    -2.4,
    'contempt',
  ],
  [
    /\b(?:just|exactly) what i needed(?: today| right now)?\b.*|.*\banother\b.*\bjust what i needed\b/,
    0,
    'neutral',
  ],
  [
    /\banother (?:\w+ )*(?:broken|wasted|week without|day without|hour|promise|excuse|mistake|delay|bill i)\b/,
    -1.6,
    'anger',
  ],
  [
    /\b(?:love|enjoy|loving|adore) (?:how|it when|the way|being|waiting|sitting|listening|paying|spending|having to|talking to)\b.*\b(?:nobody|never|hold|again|ignored|hours|twice|same|lied|robot|robots|machine|music|nothing|always|lost|wrong|transferred|broken|down|late|keep)\b/,
    -2.6,
    'contempt',
  ],
  [
    /\b(?:really|truly|very|so|real) (?:helpful|useful|professional|impressive|smart|clever|nice|funny|great)[,.!]* (?:not|i'm sure|isn't it|aren't you|when|considering)\b/,
    -2.2,
    'contempt',
  ],
  [
    /\bwhich is (?:just |really |pretty |absolutely |almost )*(?:never|pathetic|ridiculous|useless|a joke|not ideal|rarely|hardly ever)\b/,
    -1.8,
    'disappointment',
  ],
  [
    /^(?:oh |wow |ah )*(?:great|nice|good|brilliant|fantastic|excellent|lovely|wonderful) (?:job|work|going|one) (?:on )?(?:losing|breaking|messing|ruining|charging|forgetting|ignoring|destroying|making|keeping|not)\b/,
    -3.5,
    'contempt',
  ],
  [
    /\byou (?:want|expect) me to (?:\w+ )?(?:pay|wait|believe|do your|accept|call|stay|come)\b/,
    -1.7,
    'anger',
  ],
  [
    /\bi(?:'m| am|'ll| will)? (?:not|never) (?:gonna |going to )?(?:sit|stand (?:here|for)|calm down|listen to|let (?:this|you|it)|take this|take that|wait (?:any|another|for you))\b/,
    -1.7,
    'anger',
  ],
  [
    /\bi (?:already )?told you (?:that |this |so )?(?:already|before|twice|yesterday|last)|\bi(?:'ve| have) already told you\b/,
    -1.3,
    'anger',
  ],
  [
    /,\s*(?:the |your |but |and )?(?:\w+ )?\w+ (?:isn't|aren't|wasn't|doesn't|not so much|less so)[.!]?$/,
    -1.3,
    'disappointment',
  ],
  // warmth
  [
    /\b(?:made (?:my|our)|you(?:'ve| have)? (?:just )?made (?:my|our)) (?:day|week|weekend|month|year|evening|morning|holiday|christmas)\b|\brestored my faith\b|\b(?:could|want to) (?:kiss|hug) you\b/,
    2.4,
    'elation',
  ],
  [
    /\bthanks to (?:you|your \w+)(?: guys)?,? (?:we|i|my|our) (?:\w+ )?(?:made|got|could|were able|was able|managed|found|arrived|didn't miss|saved|can)\b/,
    2,
    'relief',
  ],
  [
    /\b(?:didn't|did not|never) (?:expect|think) (?:such an? |you'd |it would |to |this |that )(?:\w+ )?(?:quick|fast|good|nice|great|kind|helpful|easy|pick up|be (?:so|this|that))/,
    2.4,
    'positive_surprise',
  ],
  [
    /\bcan(?:'t|not) (?:\w+ )?(?:praise|thank|recommend|fault|speak|say|rate|believe how (?:easy|quick|fast|good|nice|helpful|kind|smooth|simple)|stress)\b(?:.*\b(?:enough|more highly|higher)\b)?/,
    0,
    'contentment',
  ],
  [
    /\bcan(?:'t|not) (?:\w+ )?(?:praise|thank|recommend|speak highly|say|rate)\b.*\b(?:enough|more highly|higher)\b|\bcan(?:'t|not) believe how (?:easy|quick|fast|good|nice|helpful|kind|smooth|simple|well|quickly)\b|\bcouldn't have (?:been (?:nicer|kinder|better|easier|simpler|smoother|quicker|faster|more helpful|more)|gone better|asked|done it without|wished)\b|\bcould(?:n't| not) be (?:better|easier|nicer|simpler|more (?:helpful|pleased|grateful))\b/,
    4,
    'elation',
  ],
  [
    /\bnever (?:thought|expected|imagined|knew|dreamed|realised|realized) (?:it|that|this)(?: it)? (?:would be|could be|was|to be|'d be) (?:so |that |this )(?:easy|simple|quick|good|fast|smooth|painless)/,
    2.5,
    'positive_surprise',
  ],
  [
    /\b(?:you|he|she|they|your \w+)(?:'ve| have|'s| has)? (?:fixed|sorted|solved|resolved|did|found|handled|got it)(?: (?:it|this|that|everything|the \w+|my \w+))?(?: out)? (?:in|within) (?:just |only |under |less than |about )*(?:a |one |two |three |five |ten |\w+ )?(?:minutes?|seconds|no time|a day|an hour|hours?)\b|\bwhat (?:the )?(?:others|other people|nobody) (?:couldn't|could not|could)\b/,
    1.8,
    'positive_surprise',
  ],
  [
    /\bwhat an? (?:\w+ )?(?:nice|lovely|great|pleasant|helpful|wonderful|fantastic|brilliant|kind|sweet|good|relief|delight|improvement|pleasure|difference|service|star|legend)\b(?! (?:way to|joke))/,
    1.2,
    'contentment',
  ],
  [
    /\b(?:not|n't|never) (?:\w+ )?(?:had|have|has|having|been|given|giving|got|gotten|seen) (?:us |me |a |any |one |a single )+(?:\w+ )?(?:problems?|issues?|complaints?|trouble|troubles|glitch|fault|hiccups?)\b(?: (?:since|so far|at all|with|in|yet))?/,
    1.8,
    'contentment',
  ],
  [
    /^(?:wow|oh wow|gosh|oh my gosh|oh|ah|yay|hooray)[,!]* (?:that's |that is |this is |it's |you're |what )?(?:\w+ )?(?:quick|fast|great|amazing|brilliant|fantastic|wonderful|lovely|awesome|perfect|nice|excellent|easy|impressive|generous|kind|good|marvellous|superb)(?: news| of you| thank| that| to hear|,|!|\.|$)/,
    1.6,
    'positive_surprise',
  ],
  [
    /\byou(?:'ve| have)? (?:all )?(?:been|were|are|'re) (?:all )?(?:so|very|really|incredibly|extremely|absolutely|truly|most|such a|super|just|always) (?:\w+ ){0,2}(?:help|kind|helpful|patient|nice|sweet|great|lovely|good|amazing|wonderful|brilliant|understanding|efficient|professional|friendly|generous|fantastic)/,
    2.2,
    'contentment',
  ],
  [
    /\b(?:it|that|everything|this|all)(?:'s| is| was| has been| works| worked| went)? (?:now )?(?:been )?(?:working |running |going )?(?:perfectly|beautifully|brilliantly|flawlessly|smoothly|wonderfully|a treat|like a (?:charm|dream)|great|really well|very well)\b/,
    1.8,
    'contentment',
  ],
  [
    /\b(?:isn't|wasn't|not|is not|was not|aren't|hasn't been) (?:that |so |too |all that |half |at all )?(?:bad|difficult|hard|complicated|expensive|painful|terrible)(?: at all| actually)?\b/,
    1.4,
    'contentment',
  ],
  [/\bwasn't expecting (?:much|that|it)\b.*\b(?:but|and)\b/, 0.4, 'positive_surprise'],
];

/** Small signs of irritation. One alone shows nothing; two or three together do. Each entry is `pattern, weight`. */
export const irritations: [pattern: RegExp, weight: number][] = [
  // blame: you did, you do not
  [
    /\byou (?:guys |people |still |just |really |even )*(?:don't|didn't|won't|can't|couldn't|haven't|have not|do not|never|keep|always)\b(?! (?:need|have to|worry|mind|want to))/,
    0.5,
  ],
  [
    /\b(?:you|they|he|she|nobody|it) (?:\w+ )?(?:don't|didn't|doesn't|won't|can't|couldn't|wouldn't|haven't|hasn't) even\b/,
    1,
  ],
  [
    /\byour (?:\w+ )?(?:app|system|website|driver|courier|engineer|technician|company|colleague|agent|bank|store|software|update) (?:\w+ )?(?:deleted|lost|broke|ruined|damaged|destroyed|ate|took|charged|forgot|ignored|lied|left|crashed|dropped|threw)\b/,
    0.6,
  ],
  [/\b(?:deleted|emptied|destroyed|wiped|ruined) (?:all )?(?:of )?my\b/, 0.4],
  // repetition
  [/\bevery (?:single )?(?:time|week|day|month|night) (?:i|we|you|it)\b/, 0.8],
  [
    /\b(?:yet again|once more|go through (?:this|that|it) again|all over again|same thing again)\b/,
    0.7,
  ],
  [/\bagain\b/, 0.25],
  [/\bstill (?:no|not|haven't|hasn't|waiting|nothing|isn't|doesn't)\b/, 0.4],
  [
    /\b(?:different|same) (?:answer|story|thing|excuse|problem|issue|mistake|error)s? (?:every|each|all|over|again)/,
    0.6,
  ],
  // nothing came of it
  [/\bno (?:reason|explanation|apology|communication|response|reply|answer|help)\b/, 0.5],
  [/\b(?:not|n't) (?:\w+ ){1,5}once\b/, 0.7],
  [
    /\b(?:for|took|takes|taken|waited|spent) (?:\w+ )?(?:weeks|months|ages|hours)\b|\ball (?:day|week|month|morning)\b/,
    0.35,
  ],
  [
    /\b(?:on hold|waiting) for (?:over |almost |nearly |more than )?(?:\w+[- ]?){1,2}(?:minutes|hours?|weeks|days)\b/,
    0.4,
  ],
  [/\b(?:lost|wasted|missed) (?:a|another|my|an entire|the whole|half a)\b/, 0.3],
  // tone
  [/!/, 0.3],
  [/\?!|!\?|\?\?|!!/, 0.5],
  [/\b(?:absolutely|completely|totally|utterly|literally|seriously|honestly|frankly)\b/, 0.3],
  [/\bwith (?:all due )?respect\b|\bno offen[cs]e\b/, 0.7],
  [
    /\b(?:should never|should've never|shouldn't) (?:have|take|be)\b|\bshould have (?:been|told|known|done|called|let)\b/,
    0.6,
  ],
  [/\bnot my (?:problem|fault)\b/, 0.7],
  [
    /\bjust (?:fix|stop|give|tell me|do your|answer|cancel it|want (?:it|this|my|an|someone|somebody))\b/,
    0.35,
  ],
  [/[,.] thanks a lot[.!]?$/, 0.7],
  [
    /\bi (?:want|expect|deserve) (?:an?|some|my) (?:\w+ )?(?:explanation|answers?|compensation|apology|money back)\b/,
    0.5,
  ],
  [/\b(?:so|and) (?:now )?i(?:'m| am) (?:left|stuck|stranded|out of pocket)\b/, 0.8],
  [
    /\bhow (?:can|could|do|does|is) (?:you|a company|anyone|that|this|it) (?:\w+ )?(?:lose|forget|happen|miss|mess|not|get (?:this|it|that) wrong|charge)\b/,
    1,
  ],
];
